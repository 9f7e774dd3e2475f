-- How a record is changed: one field of it or all; `and_more` is what else is set.
local function updates(and_more)
   local counter_type = and_more and "int" or nil
   local function update(sets, types)
      types.counter = counter_type
      return statement(("update usertable set %s%s where ycsb_key = :key"):format(sets, and_more or ""), types)
   end
   if write_all then
      local update_all = update(of_fields("field%d = :field%d"), record_types)
      return function(key, counter)
         local record = written_record(key)
         record.counter = counter
         update_all(record)
      end
   end
   local update_one = of_each_field(function(place)
      local set = form == "json" and json_set or "field%d = :value"
      return update(set:format(place), {key = key_type, value = "text"})
   end)
   return function(key, counter)
      update_one[drawn_field()] {key = key, value = drawn_text(), counter = counter}
   end
end
