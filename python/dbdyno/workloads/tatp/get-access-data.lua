-- Data of one kind of access, if the subscriber has it.
local found = counter("get-access-data found")
local select_access = statement(
   "select data1, data2, data3, data4 from access_info where s_id = :s and ai_type = :ai_type",
   {s = "int", ai_type = "int"})

function transaction()
   if select_access {s = drawn_subscriber(), ai_type = random.uniform(1, 4)}.touched > 0 then
      found()
   end
end
