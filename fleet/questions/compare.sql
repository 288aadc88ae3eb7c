-- Before and after, canary and control
-- The same by period (--split) and by the value of a label (--by). The percentiles are of the longest stall
-- of each look; the relist times are the median of what the kubelets' metrics tell.
WITH days AS (
  SELECT period, label, node, date_trunc('day', window_end) AS day, max(coalesce(stalls, 0)) AS stalls
  FROM looks WHERE window_end IS NOT NULL GROUP BY ALL
), rates AS (
  SELECT period, label, count(*) AS node_days, sum(stalls) AS stalls FROM days GROUP BY ALL
), groups AS (
  SELECT
    period, label, count(DISTINCT node) AS nodes, count(DISTINCT bundle) AS bundles,
    quantile_cont(stall_seconds, 0.5) AS stall_p50_seconds,
    quantile_cont(stall_seconds, 0.9) AS stall_p90_seconds,
    quantile_cont(stall_seconds, 0.99) AS stall_p99_seconds,
    median(relist_mean) AS relist_mean_seconds, median(relist_p99) AS relist_p99_seconds,
    count(*) FILTER (state IN ('confirmed', 'likely')) / count(*) AS explained_share
  FROM looks WHERE window_end IS NOT NULL GROUP BY ALL
)
SELECT
  coalesce(groups.period, 'all') AS period,
  coalesce(groups.label, CASE WHEN getvariable('label') IS NULL THEN 'all' ELSE 'without the label' END) AS label,
  nodes, bundles, node_days, stalls::BIGINT AS stalls, stalls / node_days AS stalls_per_node_day,
  stall_p50_seconds, stall_p90_seconds, stall_p99_seconds, relist_mean_seconds, relist_p99_seconds, explained_share
FROM groups JOIN rates ON groups.period IS NOT DISTINCT FROM rates.period AND groups.label IS NOT DISTINCT FROM rates.label
ORDER BY groups.period DESC, groups.label;
