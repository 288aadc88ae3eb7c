-- Bundles that could not be analysed
SELECT reason, count(*) AS bundles, min(path) AS path, min(report) AS report
FROM rows WHERE state = 'failed'
GROUP BY reason
ORDER BY bundles DESC, reason
LIMIT 100;
