-- One row of the hot ones changed, and one of all read, by one statement.
\set hot_id random(1, :hot_rows)
\set id random(1, :rows)
with changed as (update test set crt_time = now() where id = :hot_id)
select * from test where id = :id;
