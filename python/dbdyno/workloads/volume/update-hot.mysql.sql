-- One row of the hot ones changed, and one of all read: two statements, for these servers change
-- nothing within a select.
\set hot_id random(1, :hot_rows)
\set id random(1, :rows)
update test set crt_time = now(6) where id = :hot_id;
select * from test where id = :id;
