-- Reads a record, and changes it and its counter by what was read: locked, so that no level loses a change.
local begin, commit = statement("begin"), statement("commit")
local select_record = statement("select * from usertable where ycsb_key = :key for update",
                                {key = key_type}, {counter = "int"})
local update = updates(", counter = :counter")

function transaction()
   local key = drawn_key()
   begin()
   local counter = select_record {key = key}[1].counter
   update(key, counter + 1)
   commit()
end
