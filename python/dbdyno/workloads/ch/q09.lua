-- What the suppliers of each nation earned with some items, by year.
local query = statement([[
   select n_name, extract(year from o_entry_d) as order_year, sum(ol_amount) as profit
   from order_line
      join item on i_id = ol_i_id
      join orders on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
      join stock on s_w_id = ol_supply_w_id and s_i_id = ol_i_id
      join supplier on mod(s_w_id * s_i_id, 10000) = su_suppkey
      join nation on n_nationkey = su_nationkey
   where i_data like '%bb'
   group by n_name, extract(year from o_entry_d)
   order by n_name, order_year desc]])

function transaction()
   query()
end
