-- What is not explained
-- Looks without a cause, those with similar signatures together: two are similar if they share at least
-- 60 % of their words. Each kind has the words of its most frequent signature, and the explained look that is
-- nearest to it. The 500 most frequent signatures count.
WITH RECURSIVE counted AS (
  SELECT signature, count(*) AS looks FROM looks WHERE state IN ('stalled', 'signs', 'unrecognised') GROUP BY signature
), kinds AS (
  SELECT *, row_number() OVER (ORDER BY looks DESC, signature) AS n FROM counted QUALIFY n <= 500
), words AS (
  SELECT n, len(signature) AS size, unnest(signature) AS word FROM kinds
), similar_kinds AS ( -- each with the most frequent one that is like it
  SELECT n, min(m) AS m FROM (
    SELECT a.n, b.n AS m FROM words a JOIN words b USING (word) WHERE b.n < a.n
    GROUP BY a.n, a.size, b.n, b.size HAVING count(*) / (a.size + b.size - count(*)) >= 0.6
  ) GROUP BY n
), heads(n, head) AS (
  SELECT n, n FROM kinds WHERE n NOT IN (SELECT n FROM similar_kinds)
  UNION ALL
  SELECT similar_kinds.n, head FROM heads JOIN similar_kinds ON similar_kinds.m = heads.n
), causes_by_kind AS (
  SELECT rule, signature, count(*) AS looks, min(report) AS report
  FROM looks JOIN causes USING (id) WHERE state IN ('confirmed', 'likely') AND verdict IN ('confirmed', 'likely')
  GROUP BY rule, signature
), explained AS (
  SELECT *, row_number() OVER (ORDER BY looks DESC, rule, signature) AS n FROM causes_by_kind
), explained_words AS (
  SELECT n, len(signature) AS size, unnest(signature) AS word FROM explained
), near AS ( -- likeness is the number of shared words divided by that of all words of both
  SELECT a.n, b.n AS explained, count(*) / (a.size + b.size - count(*)) AS likeness
  FROM words a JOIN explained_words b USING (word)
  WHERE a.n IN (SELECT head FROM heads) GROUP BY a.n, a.size, b.n, b.size
), nearest AS (
  SELECT n, arg_max(explained, (likeness, -explained)) AS explained, max(likeness) AS likeness FROM near GROUP BY n
), members AS (
  SELECT head, looks.* FROM looks JOIN kinds USING (signature) JOIN heads USING (n)
  WHERE state IN ('stalled', 'signs', 'unrecognised')
), groups AS (
  SELECT
    head, count(*) AS looks, count(DISTINCT node) AS nodes, min(window_start) AS first, max(window_end) AS last, min(report) AS report
  FROM members GROUP BY head
)
SELECT
  groups.looks, nodes, kinds.signature AS words, explained.rule AS nearest_cause, likeness, first, last,
  explained.report AS nearest_report, groups.report
FROM groups JOIN kinds ON kinds.n = head
LEFT JOIN nearest ON nearest.n = head LEFT JOIN explained ON explained.n = nearest.explained
ORDER BY groups.looks DESC, head
LIMIT 50;
