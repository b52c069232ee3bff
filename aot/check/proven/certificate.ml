(* Certificates: choices for the proven checker. *)
open Exact

type t = { statement : int; grid : Checker.grid; model : string; property : string; body : reader }

let number reader = Z.extract (Z.of_int64 (varint reader)) 0 64

(* A number that counts, and is at most `most`. *)
let count reader most =
  let n = number reader in
  require reader (Z.leq n (Z.of_int most)) "a number is too large";
  Z.to_int n

let times n read = List.init n (fun _ -> read ())

let header bytes =
  let fail at why = Not_proven (Printf.sprintf "byte %d: %s" at why) in
  let reader = { bytes; at = 0; fail; minimal = false } in
  let ranged least most =
    let n = byte reader in
    require reader (n >= least && n <= most) "no such statement, semantics or grid";
    n
  in
  require reader (text reader 4 = "BFC2") "this is no certificate of version 2";
  let statement = ranged 1 2 in
  ignore (ranged 0 0);
  let weight_bits = Z.of_int (ranged 8 50) in
  let value_bits = Z.of_int (ranged 8 48) in
  let grid = { Checker.weight_bits; value_bits; coefficient_bits = Z.of_int (ranged 8 48) } in
  require reader (number reader = Z.one) "several models are not in the checker's table";
  let model = text reader 32 in
  let property = text reader 32 in
  ignore (text reader (count reader (String.length bytes)));
  { statement; grid; model; property; body = reader }

let finish reader =
  require reader (reader.at = String.length reader.bytes) "the certificate goes on behind its end"

let point reader inputs =
  let point = times inputs (fun () -> of_fraction (text reader (count reader 2000))) in
  finish reader;
  point

(* A leaf's choice for a clause of so many conditions, in a network of so many relaxations. split:
   how many neurons are split above. *)
let choice reader relaxations chooses split conditions : Checker.choice =
  let factor () =
    let condition = number reader in
    (condition, if chooses then number reader else Z.one)
  in
  let factors = times (if chooses then count reader conditions else 1) factor in
  let flags = if chooses then byte reader else 0 and next = ref 0 in
  require reader (flags < 4) "no such flags";
  let slope () =
    let relaxation = !next + count reader (relaxations - 1 - !next) in
    let slope = byte reader in
    require reader (slope <= 128) "no such slope";
    next := relaxation + 1;
    (Z.of_int relaxation, Z.of_int slope)
  in
  let slopes = times (if flags land 1 = 0 then 0 else count reader relaxations) slope in
  let multiplier () = Z.of_int (count reader ((1 lsl 52) - 1)) in
  { factors; slopes; multipliers = times (if flags land 2 = 0 then 0 else split) multiplier }

(* The tree of clauses, each of so many conditions. *)
let rec tree reader relaxations clauses split depth : Checker.tree =
  require reader (depth <= 2048) "the tree is too deep";
  let below split = tree reader relaxations clauses split (depth + 1) in
  let both split = let first = below split in (first, below split) in
  match byte reader with
  | (0 | 1) as record -> Leaf (List.map (choice reader relaxations (record = 1) split) clauses)
  | 2 -> Empty
  | 3 ->
      let element = number reader in
      let low, high = both split in
      Halve (element, low, high)
  | 4 ->
      let element = number reader in
      let coded = number reader in
      let half = Z.shift_right coded 1 in
      let low, high = both split in
      Cut (element, (if Z.is_even coded then half else Z.lognot half), low, high)
  | 5 ->
      let relaxation = number reader in
      let active, inactive = both (split + 1) in
      Neuron (relaxation, active, inactive)
  | 6 -> Derive (tree reader relaxations clauses split depth)
  | 7 ->
      let part clause = tree reader relaxations [ clause ] split (depth + 1) in
      Each (List.map part clauses)
  | _ -> raise (reader.fail reader.at "no such record")

let trees reader relaxations cases =
  let of_case clauses = tree reader relaxations (List.map List.length clauses) 0 0 in
  let trees = List.map of_case cases in
  finish reader;
  trees
