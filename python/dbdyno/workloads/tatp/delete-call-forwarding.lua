-- Ends the forwarding of calls of some hours, if there is any.
local begin, commit, rollback = statement("begin"), statement("commit"), statement("rollback")
local select_subscriber = statement("select s_id from subscriber where sub_nbr = :sub_nbr",
                                    {sub_nbr = "text"}, {s_id = "int"})
local delete = statement(
   "delete from call_forwarding where s_id = :s and sf_type = :sf_type and start_time = :start_time",
   {s = "int", sf_type = "int", start_time = "int"})

function transaction()
   local number = sub_nbr_of(drawn_subscriber())
   local sf_type, start = random.uniform(1, 4), drawn_start()
   begin()
   local s = select_subscriber {sub_nbr = number}[1].s_id
   if delete {s = s, sf_type = sf_type, start_time = start}.touched == 1 then
      commit()
   else
      rollback()
   end
end
