-- Causes by versions
-- On which share of the looks with a version a cause is there, and on which share of those with another
-- version. The lift is the share divided by that of all looks; low and high are 95 % of it, by Wilson's
-- interval of the share. A version is suspect if low is well above 1. Looks that do not tell a version do
-- not count for it, and fewer than three looks show nothing.
WITH known AS (
  SELECT component, count(*) AS looks FROM versions GROUP BY ALL
), with_version AS (
  SELECT component, version, count(*) AS looks FROM versions GROUP BY ALL
), hits AS (
  SELECT rule, component, version, count(DISTINCT id) AS looks FROM causes JOIN versions USING (id) GROUP BY ALL
), counted AS (
  SELECT
    rule, component, version, hits.looks AS hit, with_version.looks AS of_looks, known.looks AS all_looks,
    sum(hits.looks) OVER (PARTITION BY rule, component) AS all_hits, hit / of_looks AS share
  FROM hits JOIN with_version USING (component, version) JOIN known USING (component)
), wilson AS (
  SELECT *, 1.96 AS z, (share + z * z / (2 * of_looks)) / (1 + z * z / of_looks) AS middle,
    z * sqrt(share * (1 - share) / of_looks + z * z / (4 * of_looks * of_looks)) / (1 + z * z / of_looks) AS half
  FROM counted
)
SELECT
  rule AS cause, component, version,
  share / (all_hits / all_looks) AS lift,
  (middle - half) / (all_hits / all_looks) AS low,
  (middle + half) / (all_hits / all_looks) AS high,
  hit AS looks, of_looks, share,
  CASE WHEN all_looks > of_looks THEN (all_hits - hit) / (all_looks - of_looks) END AS elsewhere_share
FROM wilson
WHERE hit >= 3
ORDER BY low DESC, looks DESC, cause, component, version
LIMIT 100;
