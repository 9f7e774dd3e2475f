-- Forwards calls of some hours, if the subscriber has this facility and it does not forward them already.
local begin, commit, rollback = statement("begin"), statement("commit"), statement("rollback")
local select_subscriber = statement("select s_id from subscriber where sub_nbr = :sub_nbr",
                                    {sub_nbr = "text"}, {s_id = "int"})
local select_facilities = statement("select sf_type from special_facility where s_id = :s",
                                    {s = "int"}, {sf_type = "int"})
local insert = statement(insert_if_new:format(
   "call_forwarding (s_id, sf_type, start_time, end_time, numberx) values (:s, :sf_type, :start_time, :end_time, :number)"),
   {s = "int", sf_type = "int", start_time = "int", end_time = "int", number = "text"})

local function has(facilities, sf_type)
   for _, facility in ipairs(facilities) do
      if facility.sf_type == sf_type then
         return true
      end
   end
   return false
end

function transaction()
   local number, sf_type, start = sub_nbr_of(drawn_subscriber()), random.uniform(1, 4), drawn_start()
   local forwarding = {
      sf_type = sf_type, start_time = start, end_time = drawn_end(),
      number = sub_nbr_of(drawn_subscriber()),
   }
   begin()
   forwarding.s = select_subscriber {sub_nbr = number}[1].s_id
   local facilities = select_facilities {s = forwarding.s}
   if has(facilities, sf_type) and insert(forwarding).touched == 1 then
      commit()
   else
      rollback()
   end
end
