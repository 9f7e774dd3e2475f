-- Changes a subscriber and one of the facilities, if the subscriber has it.
local begin, commit, rollback = statement("begin"), statement("commit"), statement("rollback")
local update_subscriber = statement("update subscriber set bit_1 = :bit where s_id = :s", {s = "int", bit = "int"})
local update_facility = statement(
   "update special_facility set data_a = :data where s_id = :s and sf_type = :sf_type",
   {s = "int", sf_type = "int", data = "int"})

function transaction()
   local s, sf_type = drawn_subscriber(), random.uniform(1, 4)
   local bit, data = random.uniform(0, 1), random.uniform(0, 255)
   begin()
   update_subscriber {s = s, bit = bit}
   if update_facility {s = s, sf_type = sf_type, data = data}.touched == 0 then
      rollback()
      return
   end
   commit()
end
