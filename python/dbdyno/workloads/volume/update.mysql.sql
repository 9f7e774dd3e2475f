-- One row changed by its key, of all. A moment without its fraction would often be the one that is
-- there already, and the server would then change nothing.
\set id random(1, :rows)
update test set crt_time = now(6) where id = :id;
