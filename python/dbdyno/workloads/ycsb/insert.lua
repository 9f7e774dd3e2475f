-- Adds a record behind all that this client knows. One that is there already was added by a transaction whose end
-- was not seen.
local insert = statement(insert_if_new:format(("usertable (ycsb_key, counter, %s) values (:key, 0, %s)"):format(
   of_fields("field%d"), of_fields(":field%d"))), record_types)

function transaction()
   local place = inserted()
   insert(written_record(key_of(own(place))))
   _G.inserted = place + 1
end
