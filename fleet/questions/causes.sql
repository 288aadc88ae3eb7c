-- Causes by nodes
-- How many nodes and bundles have each cause, how sure, for how long, and since when.
SELECT
  rule AS cause,
  count(DISTINCT node) AS nodes,
  count(DISTINCT bundle) AS bundles,
  count(DISTINCT bundle) FILTER (verdict = 'confirmed') AS confirmed,
  count(DISTINCT bundle) FILTER (verdict = 'likely') AS likely,
  count(DISTINCT bundle) FILTER (verdict = 'possible') AS possible,
  median(duration) AS median_seconds,
  min(causes."start") AS first,
  max(causes."start") AS last,
  arg_max(report, (verdict = 'confirmed', verdict = 'likely', report)) AS report
FROM causes JOIN looks USING (id)
GROUP BY rule
ORDER BY nodes DESC, bundles DESC, cause;
