-- Reads a record: all of its fields, or one.
local function select(fields)
   return statement(("select %s from usertable where ycsb_key = :key"):format(fields), {key = key_type})
end

local select_all = read_all and select(of_fields("field%d"))
local select_one = not read_all and of_each_field(function(place)
   return select((form == "json" and json_field or "field%d"):format(place))
end)

function transaction()
   local read = select_all or select_one[drawn_field()]
   read {key = drawn_key()}
end
