\set aid random(1, 100000 * :scale)
select abalance, (select count(*) from generate_series(1, :work)) from pgbench_accounts where aid = :aid;
