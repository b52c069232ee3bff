(* Zarith's integers, with the functions that Extract.v names. *)

include Z

(* The same as Zarith's, but faster for numbers that are not blocks. *)
let is_small x = Obj.is_int (Obj.repr x)
let lt (x : t) (y : t) =
  if is_small x && is_small y then (Obj.magic x : int) < (Obj.magic y : int) else lt x y
let leq (x : t) (y : t) =
  if is_small x && is_small y then (Obj.magic x : int) <= (Obj.magic y : int) else leq x y
let equal (x : t) (y : t) = if is_small x || is_small y then x == y else equal x y

let doubled x = shift_left x 1
let doubled_up x = succ (shift_left x 1)

let positive odd even at_one x =
  if equal x one then at_one ()
  else if is_even x then even (shift_right x 1)
  else odd (shift_right x 1)

let natural at_zero other x = if equal x zero then at_zero () else other x

let integer at_zero above below x =
  let s = sign x in
  if s = 0 then at_zero () else if s > 0 then above x else below (neg x)

(* Of natural numbers: less than 0 is 0. *)
let before x = max zero (pred x)
let less a b = max zero (sub a b)
let half x = shift_right x 1

let to_positive x = if sign x > 0 then x else one

let logarithm x = if sign x > 0 then of_int (Stdlib.pred (numbits x)) else zero
let root x = if sign x > 0 then sqrt x else zero

let quotient a b = if equal b zero then zero else fdiv a b
let remainder a b = if equal b zero then a else sub a (mul b (fdiv a b))
let shifted_left a n = if sign n >= 0 then shift_left a (to_int n) else shift_right a (to_int (neg n))
let shifted_right a n = shifted_left a (neg n)
