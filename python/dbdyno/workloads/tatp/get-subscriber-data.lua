-- All about a subscriber.
local select_subscriber = statement("select * from subscriber where s_id = :s", {s = "int"})

function transaction()
   select_subscriber {s = drawn_subscriber()}
end
