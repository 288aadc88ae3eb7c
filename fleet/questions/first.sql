-- First seen, by cause and version
-- When each cause was first seen on each version, and where. What began at a time that the bundle does not
-- tell counts by the beginning of the bundle.
SELECT
  rule AS cause, component, version,
  min(coalesce(causes."start", window_start)) AS first,
  arg_min(node, (coalesce(causes."start", window_start), id)) AS node,
  count(DISTINCT bundle) AS bundles,
  arg_min(report, (coalesce(causes."start", window_start), id)) AS report
FROM causes JOIN looks USING (id) JOIN versions USING (id)
WHERE component IN ('kernel', 'containerd', 'crio', 'docker', 'runc', 'kubelet', 'systemd') AND coalesce(causes."start", window_start) IS NOT NULL
GROUP BY ALL
ORDER BY first DESC, cause, component, version
LIMIT 100;
