-- One row changed by its key, of all; no index is touched, so the update may be HOT.
\set id random(1, :rows)
update test set crt_time = now() where id = :id;
