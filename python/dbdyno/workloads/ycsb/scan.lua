-- Reads 1 to 100 records in the order of their keys.
local select_range = statement(
   "select * from usertable where ycsb_key >= :key order by ycsb_key limit :records",
   {key = key_type, records = "int"})

function transaction()
   local key = drawn_key()
   select_range {key = key, records = random.uniform(1, 100)}
end
