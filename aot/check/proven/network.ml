(* Elements of a network, numbered as docs/reference/certificate.md says. *)
open Exact
open Onnx

(* A function of one number: from the place of its argument to that of its value, where `emit`
   appends a step to a program. *)
type formula = (Checker.step -> Z.t) -> Z.t -> Z.t

type row =
  | Input
  | Affine of (int * Q.t) list * Q.t
  | Relu of int
  | Function of formula * int
  | Product of int * int

type t = (int, row) Hashtbl.t

let rational x = (Q.num x, Q.den x)

let add (network : t) row =
  let element = Hashtbl.length network in
  expect (element < 1 lsl 18) "the network has too many elements";
  Hashtbl.add network element row;
  Element element

let same condition = expect condition "shapes do not fit"
let numbers shape cells = { shape; cells; computed = false; integral = false }

let number_of = function
  | Number x -> x
  | Element _ -> refuse "such a computed input is not in the checker's table"

let integers tensor =
  let whole cell =
    let x = number_of cell in
    expect (Z.equal (Q.den x) Z.one && Z.fits_int (Q.num x)) "an index or extent is no integer";
    Z.to_int (Q.num x)
  in
  List.map whole (Array.to_list tensor.cells)

(* ---- Shapes ---------------------------------------------------------------------------------- *)

(* Refuses a result of this shape, each element of which is made of so many, that is too large. *)
let expect_work shape terms =
  expect (size_of shape <= 1 lsl 24 && size_of shape * terms <= 1 lsl 28)
    "a tensor that an operator makes is too large"

let zeros shape =
  expect_work shape 1;
  numbers shape (Array.make (size_of shape) (Number Q.zero))

let reshaped x shape =
  same (size_of shape = Array.length x.cells);
  { x with shape }

let moved x shape source =
  expect_work shape 1;
  reshaped { x with shape; cells = Array.map (fun i -> x.cells.(i)) source } shape

(* For each index of a shape, in row-major order, the sum of its positions times their steps. *)
let strided shape steps =
  let wider places extent step =
    List.concat_map (fun place -> List.init extent (fun k -> place + (k * step))) places
  in
  Array.of_list (List.fold_left2 wider [ 0 ] shape steps)

let rec steps_of = function
  | [] -> []
  | _ :: rest -> List.fold_left ( * ) 1 rest :: steps_of rest

let transposed x perm =
  same (List.sort compare perm = List.init (List.length x.shape) Fun.id);
  let pick list = List.map (List.nth list) perm in
  moved x (pick x.shape) (strided (pick x.shape) (pick (steps_of x.shape)))

(* Numpy's broadcasting: the shape of both, and the cells of a and of b for it. *)
let joined a b =
  let rank = max (List.length a.shape) (List.length b.shape) in
  let wide x = List.init (rank - List.length x.shape) (fun _ -> 1) @ x.shape in
  let extent x y = same (x = y || x = 1 || y = 1); if x = 1 then y else x in
  let shape = List.map2 extent (wide a) (wide b) in
  expect_work shape 1;
  let step extent step = if extent = 1 then 0 else step in
  let spread x = moved x shape (strided shape (List.map2 step (wide x) (steps_of (wide x)))) in
  (shape, (spread a).cells, (spread b).cells)

(* ---- Sums, functions and products ------------------------------------------------------------ *)

(* A tensor of affine sums: numbers where nothing is computed. row i: terms, and the bias. *)
let sums network computed shape row =
  let make i =
    let terms, bias = row i in
    let split (read, bias) (cell, weight) =
      match cell with
      | Number x -> (read, Q.add bias (Q.mul x weight))
      | Element e -> ((if Q.sign weight = 0 then read else (e, weight) :: read), bias)
    in
    let read, bias = List.fold_left split ([], bias) terms in
    if computed then add network (Affine (List.rev read, bias)) else Number bias
  in
  { shape; cells = Array.init (size_of shape) make; computed; integral = false }

(* Elements of the values of a tensor, also of those that are numbers. *)
let element_cells network x =
  let sum i = ([ (x.cells.(i), Q.one) ], Q.zero) in
  if x.computed then x.cells else (sums network true x.shape sum).cells

let elements network x =
  Array.map (function Element e -> e | Number _ -> assert false) (element_cells network x)

let computed shape cells = { shape; cells; computed = true; integral = false }

(* The form of an element: a function of an element. *)
let rec form (network : t) e : int * formula =
  match Hashtbl.find network e with
  | Function (g, z) -> (z, g)
  | Affine ([ (e, w) ], b) ->
      let z, g = form network e in
      let constant emit x = emit (Checker.Constant (rational x)) in
      let scaled emit z =
        if Q.equal w Q.one then g emit z else emit (Multiply (constant emit w, g emit z))
      in
      let shifted emit z = emit (Checker.Add (scaled emit z, constant emit b)) in
      (z, if Q.sign b = 0 then scaled else shifted)
  | _ -> (e, fun _ z -> z)

let applied network (h : formula) x =
  let of_element e =
    let z, g = form network e in
    add network (Function ((fun emit z -> h emit (g emit z)), z))
  in
  let ids = elements network x in
  computed x.shape (Array.map of_element ids)

(* The product of two elements. *)
let multiply network x y =
  let (z, g), (z', h) = (form network x, form network y) in
  let square emit z = let value = g emit z in emit (Checker.Multiply (value, value)) in
  let both emit z = let value = g emit z in emit (Checker.Multiply (value, h emit z)) in
  if z <> z' then add network (Product (x, y))
  else add network (Function ((if x = y then square else both), z))

let plus network a factor b =
  let shape, x, y = joined a b in
  let row i = ([ (x.(i), Q.one); (y.(i), factor) ], Q.zero) in
  sums network (a.computed || b.computed) shape row

let times network a b =
  let shape, x, y = joined a b in
  let product i =
    match (x.(i), y.(i)) with Element x, Element y -> multiply network x y | _ -> assert false
  in
  let scaled i =
    match (x.(i), y.(i)) with Number w, x | x, Number w -> ([ (x, w) ], Q.zero) | _ -> assert false
  in
  if a.computed && b.computed then computed shape (Array.init (size_of shape) product)
  else sums network (a.computed || b.computed) shape scaled

let relu network x =
  let positive = function
    | Number x -> Number (Q.max x Q.zero)
    | Element e -> add network (Relu e)
  in
  { x with cells = Array.map positive x.cells }

(* The greater of each two: a + max(b - a, 0). *)
let greater network a b = plus network a Q.one (relu network (plus network b Q.minus_one a))

(* scale a b + bias, of matrices. *)
let product network shape scale a b bias =
  match (a.shape, b.shape) with
  | [ rows; inner ], [ inner'; columns ] ->
      let all, _, offsets = joined (zeros [ rows; columns ]) bias in
      same (inner = inner' && all = [ rows; columns ] && size_of all = size_of shape);
      expect_work all inner;
      let term i j k =
        match (a.cells.((i * inner) + k), b.cells.((k * columns) + j)) with
        | Element x, Element y -> (multiply network x y, scale)
        | Number w, x | x, Number w -> (x, Q.mul scale w)
      in
      let terms at = List.init inner (term (at / columns) (at mod columns)) in
      let row of_ i = (of_ i, number_of offsets.(i)) in
      let both = a.computed && b.computed in
      let made = if both then Array.init (rows * columns) terms else [||] in
      sums network (a.computed || b.computed) shape (row (if both then Array.get made else terms))
  | _ -> refuse "a factor is no matrix"

(* ---- The network as the proven checker reads it ---------------------------------------------- *)

(* Terms in descending order of elements, each once. *)
let gathered terms =
  let join found (e, w) =
    match found with (e', w') :: rest when e = e' -> (e, Q.add w w') :: rest | _ -> (e, w) :: found
  in
  let sorted = List.stable_sort (fun (x, _) (y, _) -> compare y x) terms in
  List.rev_map (fun (e, w) -> (rational w, Z.of_int e)) (List.fold_left join [] sorted)

let program (formula : formula) =
  let steps = ref [] and count = ref Z.zero in
  let emit step = steps := step :: !steps; count := Z.succ !count; Z.pred !count in
  ignore (formula emit (emit Checker.Argument));
  List.rev !steps

let finished (network : t) inputs : Checker.network =
  let row i : Checker.row =
    match Hashtbl.find network (inputs + i) with
    | Affine (terms, bias) -> Affine (gathered terms, rational bias)
    | Relu e -> Relu (Z.of_int e)
    | Function (formula, z) -> Function (program formula, Z.of_int z)
    | Product (x, y) -> Product (Z.of_int x, Z.of_int y)
    | Input -> assert false
  in
  { inputs = Z.of_int inputs; rows = List.init (Hashtbl.length network - inputs) row }
