-- Where a call is forwarded to at some hour, if the facility is active and forwards calls then.
local found = counter("get-new-destination found")
local select_number = statement([[
   select cf.numberx from special_facility sf
   join call_forwarding cf on cf.s_id = sf.s_id and cf.sf_type = sf.sf_type
   where sf.s_id = :s and sf.sf_type = :sf_type and sf.is_active = 1
      and cf.start_time <= :start_time and cf.end_time > :end_time]],
   {s = "int", sf_type = "int", start_time = "int", end_time = "int"})

function transaction()
   local numbers = select_number {
      s = drawn_subscriber(), sf_type = random.uniform(1, 4),
      start_time = drawn_start(), end_time = drawn_end(),
   }
   if numbers.touched > 0 then
      found()
   end
end
