-- Changes a field of a record, or all.
local update = updates()

function transaction()
   update(drawn_key())
end
