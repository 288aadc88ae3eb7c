-- Nodes with the most stalls
-- A bundle that was collected later on the same day shows most stalls again: of each day of a node the
-- bundle with the most stalls counts.
WITH days AS (
  SELECT node, date_trunc('day', window_end) AS day, max(coalesce(stalls, 0)) AS stalls, count(DISTINCT bundle) AS bundles
  FROM looks WHERE node IS NOT NULL GROUP BY ALL
), told AS (
  SELECT node, list_sort(list(DISTINCT rule)) AS causes FROM causes JOIN looks USING (id) GROUP BY node
)
SELECT
  days.node, sum(days.stalls)::BIGINT AS stalls, count(DISTINCT day) AS days, sum(days.bundles)::BIGINT AS bundles,
  any_value(causes) AS causes,
  (SELECT arg_max(zone, (window_end, bundle)) FROM looks WHERE looks.node = days.node) AS zone,
  (SELECT arg_max(report, (window_end, report)) FROM looks WHERE looks.node = days.node) AS report
FROM days LEFT JOIN told USING (node)
GROUP BY days.node
HAVING sum(days.stalls) > 0 OR any_value(causes) IS NOT NULL
ORDER BY stalls DESC, bundles DESC, node
LIMIT 50;
