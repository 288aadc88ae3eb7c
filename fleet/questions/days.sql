-- Stalls by day
-- A node-day is a day in UTC from which there is a bundle of the node. Of several bundles of one node-day
-- the one with the most stalls counts.
WITH days AS (
  SELECT date_trunc('day', window_end)::DATE AS day, node, max(coalesce(stalls, 0)) AS stalls, count(DISTINCT bundle) AS bundles
  FROM looks WHERE window_end IS NOT NULL GROUP BY ALL
)
SELECT
  day, count(*) AS node_days, sum(stalls)::BIGINT AS stalls, sum(stalls) / count(*) AS stalls_per_node_day, sum(bundles)::BIGINT AS bundles
FROM days GROUP BY day
ORDER BY day DESC
LIMIT 366;
