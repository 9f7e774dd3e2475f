-- Data of one kind of access, if the subscriber has it.
local select_access = statement(
   "select data1, data2, data3, data4 from access_info where s_id = :s and ai_type = :ai_type",
   {s = "int", ai_type = "int"})

function transaction()
   select_access {s = drawn_subscriber(), ai_type = random.uniform(1, 4)}
end
