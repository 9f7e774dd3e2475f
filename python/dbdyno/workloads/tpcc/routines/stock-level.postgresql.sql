create or replace function dbdyno_stock_level(w int, d int, threshold int, out low bigint)
language plpgsql as $$
declare
    o int;
begin
    select d_next_o_id into o from district where d_w_id = w and d_id = d;
    select count(distinct s_i_id) into low from order_line join stock on s_i_id = ol_i_id
    where ol_w_id = w and ol_d_id = d and ol_o_id < o and ol_o_id >= o - 20
        and s_w_id = w and s_quantity < threshold;
end
$$
