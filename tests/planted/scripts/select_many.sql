\set a random(1, 100000)
\set b random(1, 100000)
\set c random(1, 100000)
\set d random(1, 100000)
\set e random(1, 100000)
\set f random(1, 100000)
\set g random(1, 100000)
\set h random(1, 100000)
select sum(value) from planted where id in (:a, :b, :c, :d, :e, :f, :g, :h);
