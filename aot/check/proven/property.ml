(* VNN-LIB files: what must never happen, as a formula over inputs and outputs. *)
open Exact
module Terms = Map.Make (Int)

(* A sum of terms, by variable, and constant. Variables: inputs from 0; output n is -1 - n. *)
type sum = { terms : Q.t Terms.t; constant : Q.t }

(* The sum is <= 0, or < 0. *)
type condition = { sum : sum; strict : bool }
type formula = Atom of condition | All of formula list | Any of formula list

(* Conjunctions of conditions, for inputs in a box, ends included. *)
type case = { box : (Q.t * Q.t) list; clauses : condition list list }

(* shapes: of inputs, then of outputs; or none: they are not said. alternatives: conjunctions, of
   which one holds where the property is violated. cases: the same, by box. *)
type t = {
  inputs : int;
  outputs : int;
  shapes : int list list;
  alternatives : condition list list;
  cases : case list;
}

let most_variables = 1 lsl 20
let limited condition = expect condition "the property is too large"

(* ---- Expressions ----------------------------------------------------------------------------- *)

type expression = Word of string | List of expression list

let expressions text =
  let replaced form by text = Str.global_replace (Str.regexp form) by text in
  (* Blanks beside the marks of [...] are dropped; another within leaves no name of the grammar. *)
  let text =
    replaced ";[^\n]*" "" text |> replaced "\\([[,]\\)[ \t\r\n]+" "\\1"
    |> replaced "[ \t\r\n]+\\([],]\\)" "\\1"
  in
  let bad = String.contains text '"' || String.contains text '|' in
  expect (not bad) "the property has a character that is not in the grammar";
  let put word = function
    | inner :: outer -> (word :: inner) :: outer
    | [] -> refuse "the property has ')' without '('"
  in
  let read stack = function
    | Str.Delim "(" -> [] :: stack
    | Str.Delim _ -> put (List (List.rev (List.hd stack))) (List.tl stack)
    | Str.Text text ->
        let words = Str.split (Str.regexp "[ \t\r\n]+") text in
        List.fold_left (fun stack word -> put (Word word) stack) stack words
  in
  match List.fold_left read [ [] ] (Str.full_split (Str.regexp "[()]") text) with
  | [ all ] -> List.rev all
  | _ -> refuse "the property's file ends within an expression"

(* ---- Sums and formulas ----------------------------------------------------------------------- *)

let number constant = { terms = Terms.empty; constant }

let plus a factor b =
  let join _ x y =
    let both = Q.(add (Option.value x ~default:zero) (mul factor (Option.value y ~default:zero))) in
    if Q.sign both = 0 then None else Some both
  in
  let constant = Q.add a.constant (Q.mul factor b.constant) in
  { terms = Terms.merge join a.terms b.terms; constant }

let multiple = plus (number Q.zero)

let times a b =
  let by, sum = if Terms.is_empty a.terms then (a.constant, b) else (b.constant, a) in
  expect (Terms.is_empty a.terms || Terms.is_empty b.terms) "'*' of such terms is not in the table";
  limited (Z.numbits (Q.num by) + Z.numbits (Q.den by) <= 1 lsl 17);
  multiple by sum

let rec sum_of variables = function
  | Word word when String.contains "-+.0123456789" word.[0] -> number (of_decimal word)
  | Word word -> (
      match Hashtbl.find_opt variables word with
      | Some variable -> { (number Q.zero) with terms = Terms.singleton variable Q.one }
      | None -> refuse ("the property reads '" ^ shown word ^ "', which it does not declare"))
  | List (Word name :: first :: rest) -> (
      let first = sum_of variables first and rest = List.map (sum_of variables) rest in
      match (name, rest) with
      | "-", [] -> multiple Q.minus_one first
      | "-", _ -> List.fold_left (fun sum x -> plus sum Q.minus_one x) first rest
      | "+", _ -> List.fold_left (fun sum x -> plus sum Q.one x) first rest
      | "*", _ -> List.fold_left times first rest
      | _ -> refuse ("'" ^ shown name ^ "' is not in the checker's grammar"))
  | List _ -> refuse "a term of the property is not in the grammar"

let rec neighbours = function a :: (b :: _ as rest) -> (a, b) :: neighbours rest | _ -> []

(* The formula, or what holds where it does not. *)
let rec formula variables negated expression =
  let join all parts = if all <> negated then All parts else Any parts in
  match expression with
  | Word (("true" | "false") as word) -> join (word = "true") []
  | List [ Word "not"; part ] -> formula variables (not negated) part
  | List (Word (("and" | "or") as name) :: (_ :: _ as parts)) ->
      join (name = "and") (List.map (formula variables negated) parts)
  | List (Word (("<=" | "<" | ">=" | ">" | "=" | "==") as name) :: (_ :: _ :: _ as terms)) ->
      let less a b =
        let low, high = if negated then (b, a) else (a, b) in
        Atom { sum = plus low Q.minus_one high; strict = (name = "<" || name = ">") <> negated }
      in
      let pair (a, b) =
        (if name.[0] = '>' then [] else [ less a b ]) @ if name.[0] = '<' then [] else [ less b a ]
      in
      join true (List.concat_map pair (neighbours (List.map (sum_of variables) terms)))
  | _ -> refuse "a formula of the property is not in the grammar"

(* Conjunctions, in reverse, of which one holds where the formula does. The last part's vary
   fastest. *)
let rec alternatives = function
  | Atom condition -> [ [ condition ] ]
  | Any parts ->
      let join all part =
        limited (List.compare_length_with all (1 lsl 16) <= 0);
        List.rev_append (alternatives part) all
      in
      List.rev (List.fold_left join [] parts)
  | All parts ->
      let join all part =
        limited (List.length all * List.length part <= 1 lsl 16);
        List.concat_map (fun a -> List.map (fun b -> b @ a) part) all
      in
      List.fold_left join [ [] ] (List.map alternatives parts)

(* ---- Cases ----------------------------------------------------------------------------------- *)

(* The multiple of a condition whose coefficients are coprime integers. *)
let scaled condition =
  let sum = condition.sum in
  let common = Terms.fold (fun _ c so_far -> Z.lcm so_far (Q.den c)) sum.terms Z.one in
  let whole c = Q.num (Q.mul c (Q.of_bigint common)) in
  let divisor = Terms.fold (fun _ c so_far -> Z.gcd so_far (whole c)) sum.terms Z.zero in
  let factor = Q.make common (if Z.sign divisor = 0 then Z.one else divisor) in
  { condition with sum = multiple factor sum }

(* The box of a conjunction, and its other conditions; None where the box is empty. *)
let boxed inputs conjunction =
  let least = Array.make inputs None and most = Array.make inputs None in
  let meet ends i pick bound =
    ends.(i) <- Some (Option.fold ends.(i) ~none:bound ~some:(pick bound))
  in
  let is_of_clause { sum; _ } =
    match Terms.bindings sum.terms with
    | [ (i, c) ] when i >= 0 ->
        let bound = Q.neg (Q.div sum.constant c) in
        if Q.sign c > 0 then meet most i Q.min bound else meet least i Q.max bound;
        false
    | _ -> true
  in
  let clause = List.map scaled (List.filter is_of_clause conjunction) in
  let ends i =
    match (least.(i), most.(i)) with
    | Some low, Some high -> (low, high)
    | _ -> refuse (Printf.sprintf "input %d has no lower and upper bound in an alternative" i)
  in
  let box = List.init inputs ends in
  if List.for_all (fun (low, high) -> Q.leq low high) box then Some (box, clause) else None

(* Clauses of equal boxes together, in the order of their first. *)
let cases_of inputs alternatives =
  limited (List.length alternatives * inputs <= 1 lsl 24);
  let known = Hashtbl.create 16 in
  let add order (box, clause) =
    let key = List.concat_map (fun (low, high) -> [ Q.to_string low; Q.to_string high ]) box in
    let key = String.concat " " key in
    let order = if Hashtbl.mem known key then order else (key, box) :: order in
    Hashtbl.add known key clause;
    order
  in
  let order = List.fold_left add [] (List.filter_map (boxed inputs) alternatives) in
  List.rev_map (fun (key, box) -> { box; clauses = List.rev (Hashtbl.find_all known key) }) order

(* ---- Files ----------------------------------------------------------------------------------- *)

let shape_of word =
  let fits = Str.string_match (Str.regexp "\\[\\([0-9,]*\\)\\]$") word 0 in
  expect fits "a shape of the property is not in the grammar";
  let extent word =
    match int_of_string_opt word with
    | Some extent when string_of_int extent = word -> extent
    | _ -> refuse "an extent of the property is not in the grammar"
  in
  let inner = Str.matched_group 1 word in
  let shape = if inner = "" then [] else List.map extent (String.split_on_char ',' inner) in
  let within size extent = limited (size * extent <= most_variables); size * extent in
  ignore (List.fold_left within 1 shape);
  shape

(* The names of a tensor's elements in row-major order. *)
let names_of name shape =
  let longer names extent =
    List.concat_map (fun n -> List.init extent (fun i -> n ^ "," ^ string_of_int i)) names
  in
  let index text = name ^ "[" ^ String.sub text 1 (String.length text - 1) ^ "]" in
  if shape = [] then [ name ] else List.map index (List.fold_left longer [ "" ] shape)

let read text =
  let variables = Hashtbl.create 64 and counts = [| 0; 0 |] in
  let asserts = ref [] and ended = ref false and network = ref None in
  let declare side name =
    expect (not (Hashtbl.mem variables name)) "the property declares a name twice";
    Hashtbl.add variables name (if side = 0 then counts.(0) else -1 - counts.(1));
    limited (counts.(side) < most_variables);
    counts.(side) <- counts.(side) + 1
  in
  let single name =
    let side = if name.[0] = 'X' then 0 else 1 in
    let expected = [| "X_"; "Y_" |].(side) ^ string_of_int counts.(side) in
    expect (name = expected && !network = None) "the property declares a name out of order";
    declare side name
  in
  let tensor = function
    | List [ Word kind; Word name; Word "Real"; Word word ]
      when (kind = "declare-input" || kind = "declare-output") && not (String.contains name '[') ->
        let shape = shape_of word and side = if kind = "declare-input" then 0 else 1 in
        List.iter (declare side) (names_of name shape);
        (side, shape)
    | _ -> refuse "a declaration of the property is not in the grammar"
  in
  let command expression =
    let name = match expression with List (Word name :: _) -> name | _ -> "" in
    expect ((not !ended) || name = "exit") "the property goes on behind its check-sat or exit";
    ended := !ended || name = "check-sat" || name = "exit";
    match expression with
    | List [ Word "declare-const"; Word name; Word "Real" ]
    | List [ Word "declare-fun"; Word name; List []; Word "Real" ] ->
        single name
    | List (Word "declare-network" :: Word _ :: tensors) ->
        expect (Hashtbl.length variables = 0) "several networks are not in the checker's grammar";
        let is_input (side, _) = side = 0 in
        let inputs, outputs = List.partition is_input (List.map tensor tensors) in
        network := Some (List.map snd (inputs @ outputs))
    | List [ Word "assert"; e ] -> asserts := formula variables false e :: !asserts
    | List (Word ("vnnlib-version" | "set-logic" | "set-info" | "check-sat" | "exit") :: _) -> ()
    | _ -> refuse ("command '" ^ shown name ^ "' is not in the checker's grammar")
  in
  List.iter command (expressions text);
  let inputs = counts.(0) in
  expect (inputs > 0) "the property declares no input";
  let alternatives = List.map List.rev (alternatives (All (List.rev !asserts))) in
  let cases = cases_of inputs alternatives in
  expect (cases <> []) "the property has no case: no input satisfies its asserts";
  { inputs; outputs = counts.(1); shapes = Option.value !network ~default:[]; alternatives; cases }
