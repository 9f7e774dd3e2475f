-- Suppliers of a nation whose lines were the last of their order to be delivered.
local query = statement([[
   select su_name, count(*) as last_lines
   from order_line l
      join orders on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
      join stock on s_w_id = ol_supply_w_id and s_i_id = ol_i_id
      join supplier on mod(s_w_id * s_i_id, 10000) = su_suppkey
      join nation on n_nationkey = su_nationkey
   where n_name = 'Germany' and l.ol_delivery_d > o_entry_d
      and not exists (
         select 1 from order_line later
         where later.ol_w_id = l.ol_w_id and later.ol_d_id = l.ol_d_id and later.ol_o_id = l.ol_o_id
            and later.ol_delivery_d > l.ol_delivery_d)
   group by su_name
   order by last_lines desc, su_name
   limit 100]])

function transaction()
   query()
end
