-- The rows of plegdiag batch as tables, which all questions ask. The variable rows is the file; the
-- others may be missing: label is the key of a label, and split a moment, for "before and after".
CREATE OR REPLACE TEMP TABLE rows AS
SELECT * FROM read_json(getvariable('rows'), format = 'newline_delimited', columns = {
  bundle: 'VARCHAR', path: 'VARCHAR', report: 'VARCHAR', labels: 'MAP(VARCHAR, VARCHAR)',
  version: 'VARCHAR', catalog: 'VARCHAR', settings: 'VARCHAR', state: 'VARCHAR', reason: 'VARCHAR',
  node: 'VARCHAR', headline: 'VARCHAR', window_start: 'TIMESTAMP', window_end: 'TIMESTAMP',
  stalls: 'BIGINT', stall_start: 'TIMESTAMP', stall_end: 'TIMESTAMP', stall_seconds: 'DOUBLE',
  stall_open: 'BOOLEAN', stall_phase: 'VARCHAR',
  relist_count: 'DOUBLE', relist_mean: 'DOUBLE', relist_p99: 'DOUBLE',
  finding: 'BIGINT', rule: 'VARCHAR', verdict: 'VARCHAR', role: 'VARCHAR', score: 'DOUBLE',
  container: 'VARCHAR', "start": 'TIMESTAMP', "end": 'TIMESTAMP', duration: 'DOUBLE',
  kernel: 'VARCHAR', containerd: 'VARCHAR', crio: 'VARCHAR', docker: 'VARCHAR', runc: 'VARCHAR',
  kubelet: 'VARCHAR', systemd: 'VARCHAR', os: 'VARCHAR', zone: 'VARCHAR', region: 'VARCHAR',
  instance_type: 'VARCHAR', signature: 'VARCHAR[]', missing: 'VARCHAR[]', files: 'BIGINT', file_errors: 'BIGINT'});

-- One row for each node in each bundle that could be analysed.
CREATE OR REPLACE TEMP TABLE looks AS
SELECT DISTINCT ON (id)
  bundle || '/' || coalesce(node, '') AS id,
  bundle, path, report, state, node, headline, window_start, window_end, stalls, stall_start, stall_seconds,
  relist_count, relist_mean, relist_p99, kernel, containerd, crio, docker, runc, kubelet, systemd, os, zone, region,
  instance_type, list_sort(list_distinct(coalesce(signature, []))) AS signature, coalesce(missing, []) AS missing,
  map_extract(labels, getvariable('label')::VARCHAR)[1] AS label,
  CASE WHEN window_end < getvariable('split')::TIMESTAMP THEN 'before' WHEN window_end IS NOT NULL AND getvariable('split') IS NOT NULL THEN 'after' END AS period
FROM rows WHERE state <> 'failed'
ORDER BY id, finding;

-- The causes of each look: what explains a stall, and what else makes a node NotReady.
CREATE OR REPLACE TEMP TABLE causes AS
SELECT bundle || '/' || coalesce(node, '') AS id, rule, verdict, role, "start", duration
FROM rows WHERE role IN ('root', 'notready');

-- The versions and places of each look, one a row.
CREATE OR REPLACE TEMP TABLE versions AS
SELECT id, component, version FROM looks
UNPIVOT (version FOR component IN (kernel, containerd, crio, docker, runc, kubelet, systemd, os, zone, region, instance_type))
UNION ALL
SELECT id, 'kernel + containerd + systemd', kernel || ' + ' || containerd || ' + ' || systemd
FROM looks WHERE kernel IS NOT NULL AND containerd IS NOT NULL AND systemd IS NOT NULL;
