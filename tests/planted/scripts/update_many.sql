\set a random(1, 10000)
update planted set value = value + 1 where id in (:a, :a + 10000, :a + 20000, :a + 30000,
    :a + 40000, :a + 50000, :a + 60000, :a + 70000, :a + 80000, :a + 90000);
