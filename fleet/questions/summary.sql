-- What was read
-- Bundles by the first words of their reports. Looks are the nodes in them: a bundle can hold several.
SELECT
  (SELECT count(DISTINCT bundle) FROM looks) AS bundles,
  (SELECT count(*) FROM looks) AS looks,
  (SELECT count(DISTINCT node) FROM looks) AS nodes,
  (SELECT count(*) FROM looks WHERE state = 'confirmed') AS confirmed,
  (SELECT count(*) FROM looks WHERE state = 'likely') AS likely,
  (SELECT count(*) FROM looks WHERE state = 'possible') AS possible,
  (SELECT count(*) FROM looks WHERE state = 'stalled') AS stalled,
  (SELECT count(*) FROM looks WHERE state = 'signs') AS signs,
  (SELECT count(*) FROM looks WHERE state = 'healthy') AS healthy,
  (SELECT count(*) FROM looks WHERE state = 'unrecognised') AS unrecognised,
  (SELECT count(*) FROM rows WHERE state = 'failed') AS failed,
  (SELECT min(window_start) FROM looks) AS first,
  (SELECT max(window_end) FROM looks) AS last,
  (SELECT count(DISTINCT (version, catalog, settings)) FROM rows) AS kinds_of_analysis;
