-- A reader who meets pages, snapshots and locks of everybody, on a standby too.
\set aid random(1, 100000 * :scale)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
SELECT count(*) FROM pgbench_tellers;
SELECT count(*) FROM ledger WHERE number > (SELECT max(number) - 50 FROM ledger);
