-- Inputs that are missing most often
-- What rules ask for and the looks without a likely cause do not hold. Alone says how often nothing else
-- would do in its place.
WITH open AS (
  SELECT id, missing FROM looks WHERE state IN ('possible', 'stalled', 'signs', 'unrecognised')
), lacks AS (
  SELECT DISTINCT id, unnest(missing) AS lacking FROM open
), asked AS (
  SELECT id, unnest(string_split(lacking, ' or ')) AS input, NOT contains(lacking, ' or ') AS alone FROM lacks
)
SELECT
  input, count(DISTINCT id) AS looks, count(DISTINCT id) FILTER (alone) AS alone,
  count(DISTINCT id) / (SELECT count(*) FROM open) AS share
FROM asked
GROUP BY input
ORDER BY looks DESC, alone DESC, input
LIMIT 30;
