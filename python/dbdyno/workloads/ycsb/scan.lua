-- Reads 1 to 100 records in the order of their keys.
local asked_for = counter("records asked for")
local select_range = statement(
   "select * from usertable where ycsb_key >= :key order by ycsb_key limit :records",
   {key = key_type, records = "int"})

function transaction()
   local key, records = drawn_key(), random.uniform(1, 100)
   asked_for(records)
   select_range {key = key, records = records}
end
