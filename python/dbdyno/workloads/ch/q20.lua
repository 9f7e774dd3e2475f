-- Suppliers of a nation that have more of some items in stock than is ordered of them.
local query = statement([[
   select su_name, su_address
   from supplier
      join nation on n_nationkey = su_nationkey
   where n_name = 'Germany'
      and su_suppkey in (
         select mod(s_w_id * s_i_id, 10000)
         from order_line
            join item on i_id = ol_i_id
            join stock on s_w_id = ol_supply_w_id and s_i_id = ol_i_id
         where i_data like 'c%'
         group by s_w_id, s_i_id, s_quantity
         having 2 * s_quantity > sum(ol_quantity))
   order by su_name]])

function transaction()
   query()
end
