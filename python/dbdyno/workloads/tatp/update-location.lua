-- A subscriber, who is known by number, has moved.
local update_location = statement(
   "update subscriber set vlr_location = :location where sub_nbr = :sub_nbr", {location = "int", sub_nbr = "text"})

function transaction()
   update_location {sub_nbr = sub_nbr_of(drawn_subscriber()), location = random.uniform(1, 2147483647)}
end
