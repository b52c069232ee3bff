(* Operators of ONNX: what elements they make, and in what order. *)
open Exact
open Onnx
open Network

(* A node with its inputs; None for one that is left out. *)
type operands = { node : node; given : tensor option list; network : Network.t; opset : int }

let optional o i = Option.join (List.nth_opt o.given i)
let input o i = match optional o i with Some x -> x | None -> refuse "an input is missing"

let attribute read o name otherwise =
  let found = List.assoc_opt name o.node.attributes in
  let value = Option.bind found read in
  expect (found = None || value <> None) ("attribute " ^ name ^ " has another type");
  Option.value value ~default:otherwise

let integer = attribute (function Integer x -> Some x | _ -> None)
let real = attribute (function Real x -> Some x | _ -> None)
let list = attribute (function List x -> Some x | _ -> None)
let word = attribute (function Text x -> Some x | _ -> None)

(* ---- Matrices and images --------------------------------------------------------------------- *)

let matmul o =
  let a = input o 0 and b = input o 1 in
  let before = List.filteri (fun i _ -> i < List.length a.shape - 1) a.shape in
  match (List.rev a.shape, b.shape) with
  | inner :: _, ([ rows ] | [ rows; _ ]) ->
      let columns = List.tl b.shape in
      let wide = reshaped b [ rows; size_of columns ] in
      let flat = reshaped a [ size_of before; inner ] in
      product o.network (before @ columns) Q.one flat wide (zeros [])
  | _ -> refuse "a product of several matrices is not in the checker's table"

let gemm o =
  let oriented i name =
    expect (List.length (input o i).shape = 2) "a factor is no matrix";
    if integer o name 0 <> 0 then transposed (input o i) [ 1; 0 ] else input o i
  in
  let a = oriented 0 "transA" and b = oriented 1 "transB" and beta = real o "beta" Q.one in
  let scaled x = Number (Q.mul beta (number_of x)) in
  let c = Option.value (optional o 2) ~default:(zeros []) in
  let bias = { c with cells = Array.map scaled c.cells } in
  product o.network [ List.hd a.shape; List.nth b.shape 1 ] (real o "alpha" Q.one) a b bias

(* The places of a window over images of two axes, and for each the taps that lie in the image:
   the tap's number, and its place in the image. *)
let windows o height width =
  expect (word o "auto_pad" "NOTSET" = "NOTSET") "auto_pad is not in the checker's table";
  expect (integer o "ceil_mode" 0 = 0) "ceil_mode is not in the checker's table";
  let get name otherwise = Array.of_list (list o name otherwise) in
  let image = Array.of_list (input o 0).shape and size = [| height; width |] in
  let strides = get "strides" [ 1; 1 ] and steps = get "dilations" [ 1; 1 ] in
  let pads = get "pads" [ 0; 0; 0; 0 ] in
  same (Array.length strides = 2 && Array.length steps = 2 && Array.length pads = 4);
  let within least most = Array.for_all (fun x -> x >= least && x <= most) in
  let fits = within 1 4096 (Array.concat [ size; strides; steps ]) && within 0 (1 lsl 20) pads in
  expect fits "a window or padding is not in the checker's table";
  let places i =
    let room = image.(i + 2) + pads.(i) + pads.(i + 2) - ((size.(i) - 1) * steps.(i)) - 1 in
    expect (room >= 0) "a window is larger than its image";
    (room / strides.(i)) + 1
  in
  let rows = places 0 and columns = places 1 in
  expect_work [ image.(0); image.(1); rows; columns ] (height * width);
  let tap place t =
    let at i place tap = (place * strides.(i)) - pads.(i) + (tap * steps.(i)) in
    let y = at 0 (place / columns) (t / width) and x = at 1 (place mod columns) (t mod width) in
    if y >= 0 && y < image.(2) && x >= 0 && x < image.(3) then Some (t, (y * image.(3)) + x)
    else None
  in
  let taps = List.init (height * width) Fun.id in
  (rows, columns, Array.init (rows * columns) (fun place -> List.filter_map (tap place) taps))

let conv o =
  let x = input o 0 and kernel = input o 1 in
  match (kernel.shape, x.shape) with
  | [ outs; depth; height; width ], [ batch; channels; rows; columns ] ->
      let groups = integer o "group" 1 and area = rows * columns and taps = height * width in
      same (list o "kernel_shape" [ height; width ] = [ height; width ] && groups >= 1);
      same (outs mod groups = 0 && size_of [ depth; groups ] = channels);
      let bias = Option.value (optional o 2) ~default:(zeros [ outs ]) in
      same (bias.shape = [ outs ]);
      let rows, columns, windows = windows o height width in
      let shape = [ batch; outs; rows; columns ] and places = rows * columns in
      expect_work shape (size_of [ depth; height; width ]);
      let weights = Array.map number_of kernel.cells in
      let row i =
        let place = i mod places and out = i / places mod outs and image = i / places / outs in
        let first = (image * channels) + (out / (outs / groups) * depth) in
        let of_channel c (tap, at) =
          (x.cells.(((first + c) * area) + at), weights.((((out * depth) + c) * taps) + tap))
        in
        let terms = List.init depth (fun c -> List.map (of_channel c) windows.(place)) in
        (List.concat terms, number_of bias.cells.(out))
      in
      sums o.network x.computed shape row
  | _ -> refuse "images of other than two axes are not in the checker's table"

(* The shape of a pooling, the taps of its window, and what each place reads, in their order. *)
let pooled o =
  match ((input o 0).shape, list o "kernel_shape" []) with
  | [ batch; channels; height; width ], [ h; w ] ->
      let rows, columns, windows = windows o h w in
      expect (Array.for_all (( <> ) []) windows) "a window lies in the padding alone";
      let of_image image =
        Array.map (List.map (fun (_, at) -> (image * height * width) + at)) windows
      in
      let all = Array.concat (List.init (batch * channels) of_image) in
      ([ batch; channels; rows; columns ], h * w, all)
  | _ -> refuse "images of other than two axes are not in the checker's table"

let average_pool o =
  let x = input o 0 and shape, taps, windows = pooled o in
  let counts = integer o "count_include_pad" 0 <> 0 in
  let row i =
    let weight = Q.of_ints 1 (if counts then taps else List.length windows.(i)) in
    (List.map (fun at -> (x.cells.(at), weight)) windows.(i), Q.zero)
  in
  sums o.network x.computed shape row

(* Of neighbours in the order of taps, until one is left. A window with fewer taps than others
   repeats its first one. *)
let max_pool o =
  let x = input o 0 and shape, _, windows = pooled o in
  expect (integer o "storage_order" 0 = 0) "storage_order is not in the checker's table";
  let most = Array.fold_left (fun most taps -> max most (List.length taps)) 1 windows in
  let tap t taps = Option.value (List.nth_opt taps t) ~default:(List.hd taps) in
  let rec pairs = function
    | a :: b :: rest -> let greatest = greater o.network a b in greatest :: pairs rest
    | rest -> rest
  in
  let rec reduce = function [ x ] -> x | tensors -> reduce (pairs tensors) in
  reduce (List.init most (fun t -> moved x shape (Array.map (tap t) windows)))

(* ---- Moving data ----------------------------------------------------------------------------- *)

let flatten o =
  let x = input o 0 in
  let rank = List.length x.shape and axis = integer o "axis" 1 in
  expect (axis >= -rank && axis <= rank) "an axis does not exist";
  let axis = if axis < 0 then axis + rank else axis in
  let part keep = size_of (List.filteri (fun i _ -> keep i) x.shape) in
  reshaped x [ part (fun i -> i < axis); part (fun i -> i >= axis) ]

let reshape o =
  let x = input o 0 in
  expect (integer o "allowzero" 0 = 0) "allowzero is not in the checker's table";
  let copied i extent =
    same (extent <> 0 || i < List.length x.shape);
    if extent = 0 then List.nth x.shape i else extent
  in
  let open_, known = List.partition (( = ) (-1)) (List.mapi copied (integers (input o 1))) in
  same (open_ = [] || (List.length open_ = 1 && size_of known > 0));
  let extent i e =
    let e = copied i e in
    if e = -1 then Array.length x.cells / size_of known else e
  in
  reshaped x (List.mapi extent (integers (input o 1)))

let transpose o =
  let x = input o 0 in
  transposed x (list o "perm" (List.rev (List.init (List.length x.shape) Fun.id)))

(* A number around a tensor. *)
let pad o =
  let x = input o 0 and value = real o "value" Q.zero and given = o.opset >= 11 in
  let others = List.exists (fun (name, _) -> name <> "mode") o.node.attributes in
  let known = if given then not others else List.length o.given = 1 in
  let known = known && word o "mode" "constant" = "constant" && not x.integral in
  let filler = Option.value (optional o 2) ~default:(numbers [] [| Number value |]) in
  let pads = if given then integers (input o 1) else list o "pads" [] in
  let pads = Array.of_list pads and rank = List.length x.shape in
  expect (known && Array.for_all (fun p -> p >= 0 && p <= 1 lsl 20) pads) "such a padding";
  same (Array.length pads = 2 * rank && Array.length filler.cells = 1 && not filler.computed);
  let shape = List.mapi (fun i extent -> pads.(i) + extent + pads.(rank + i)) x.shape in
  let filler = if x.computed then computed [] (element_cells o.network filler) else filler in
  let padded = moved filler shape (Array.make (size_of shape) 0) and steps = steps_of shape in
  let first = List.fold_left ( + ) 0 (List.mapi (fun i step -> pads.(i) * step) steps) in
  Array.iteri (fun i at -> padded.cells.(first + at) <- x.cells.(i)) (strided x.shape steps);
  padded

let constant o =
  match List.assoc_opt "value" o.node.attributes with
  | Some (Tensor found) -> found
  | _ -> refuse "a constant without attribute value is not in the checker's table"

let dropout o =
  expect (o.opset >= 7) "training mode is not in the checker's table";
  input o 0

(* ---- Functions ------------------------------------------------------------------------------- *)

(* A function in reverse Polish notation, z its argument. *)
let formula text : formula =
  let unary : (string * (Z.t -> Checker.step)) list =
    [ ("1/", fun a -> Reciprocal a); ("exp", fun a -> Exp a); ("log", fun a -> Log a);
      ("sqrt", fun a -> Sqrt a); ("sin", fun a -> Sin a); ("cos", fun a -> Cos a);
      ("atan", fun a -> Atan a); ("sigmoid", fun a -> Sigmoid a); ("sign", fun a -> Sign a);
      ("floor", fun a -> Floor a); ("round", fun a -> Round a) ]
  in
  let binary : (string * (Z.t -> Z.t -> Checker.step)) list =
    [ ("+", fun a b -> Add (a, b)); ("*", fun a b -> Multiply (a, b));
      ("max", fun a b -> Maximum (a, b)) ]
  in
  let read emit z stack word =
    match (List.assoc_opt word unary, List.assoc_opt word binary, stack) with
    | Some step, _, a :: rest -> emit (step a) :: rest
    | _, Some step, b :: a :: rest -> emit (step a b) :: rest
    | _ when word = "z" -> z :: stack
    | _ -> emit (Checker.Constant (rational (of_decimal word))) :: stack
  in
  fun emit z -> List.hd (List.fold_left (read emit z) [] (String.split_on_char ' ' text))

let functions =
  [ ("Atan", "z atan"); ("Ceil", "z -1 * floor -1 *"); ("Cos", "z cos"); ("Exp", "z exp");
    ("Floor", "z floor"); ("Log", "z log"); ("Reciprocal", "z 1/"); ("Round", "z round");
    ("Sigmoid", "z sigmoid"); ("Sign", "z sign"); ("Sin", "z sin"); ("Sqrt", "z sqrt");
    ("Softplus", "z 0 max 1 z z -1 * max -1 * exp + log +");
    ("Softsign", "z 1 z z -1 * max + 1/ *"); ("Tanh", "2 z * sigmoid 2 * -1 +") ]

let reciprocal network x =
  let inverse x = expect (Q.sign x <> 0) "a division by 0"; Number (Q.inv x) in
  if x.computed then applied network (formula "z 1/") x
  else { x with cells = Array.map (fun x -> inverse (number_of x)) x.cells }

(* ---- Networks -------------------------------------------------------------------------------- *)

(* A name, most inputs, attributes, whether it computes, and the rule of its first output. *)
let table =
  let pool = [ "auto_pad"; "ceil_mode"; "dilations"; "kernel_shape"; "pads"; "strides" ] in
  let apply text o = applied o.network (formula text) (input o 0) in
  let sum factor o = plus o.network (input o 0) factor (input o 1) in
  let divide o = times o.network (input o 0) (reciprocal o.network (input o 1)) in
  [
    ("Add", 2, [], true, sum Q.one);
    ("AveragePool", 1, "count_include_pad" :: pool, true, average_pool);
    ("Constant", 0, [ "value" ], false, constant);
    ("Conv", 3, "group" :: List.filter (( <> ) "ceil_mode") pool, true, conv);
    ("Div", 2, [], true, divide);
    ("Dropout", 2, [ "ratio"; "seed" ], false, dropout);
    ("Flatten", 1, [ "axis" ], false, flatten);
    ("Gemm", 3, [ "alpha"; "beta"; "transA"; "transB" ], true, gemm);
    ("Identity", 1, [], false, fun o -> input o 0);
    ("MatMul", 2, [], true, matmul);
    ("MaxPool", 1, "storage_order" :: pool, true, max_pool);
    ("Mul", 2, [], true, fun o -> times o.network (input o 0) (input o 1));
    ("Relu", 1, [], true, fun o -> relu o.network (input o 0));
    ("Pad", 3, [ "mode"; "pads"; "value" ], false, pad);
    ("Reshape", 2, [ "allowzero" ], false, reshape);
    ("Sub", 2, [], true, sum Q.minus_one);
    ("Transpose", 1, [ "perm" ], false, transpose);
  ]
  @ List.map (fun (name, text) -> (name, 1, [], true, apply text)) functions

(* Carries a node out: the value of its first output. *)
let run network opset values (node : node) =
  let where = "operator " ^ shown node.op in
  let known = List.find_opt (fun (name, _, _, _, _) -> name = node.op) table in
  let none = (node.op, -1, [], true, fun _ -> assert false) in
  let _, most, attributes, computes, rule = Option.value known ~default:none in
  expect
    (List.length node.inputs <= most && List.exists (( <> ) "") node.outputs
    && List.for_all (fun (name, _) -> List.mem name attributes) node.attributes
    && List.for_all (( = ) "") (List.tl node.outputs))
    (where ^ ", or an attribute or output of it, is not in the checker's table");
  let read name =
    let found = Hashtbl.find_opt values name in
    expect (found <> None || name = "") (where ^ " reads what no earlier node makes");
    let integral = Option.fold found ~none:false ~some:(fun x -> x.integral) in
    expect (not (computes && integral)) (where ^ ": arithmetic of integers");
    found
  in
  let given = List.map read node.inputs in
  try rule { node; given; network; opset } with Refused why -> refuse (where ^ ": " ^ why)

(* The network of a model, its outputs, and the shapes of its inputs, then of its outputs. *)
let make model =
  let network = Hashtbl.create 4096 and values = Hashtbl.create 64 in
  let define (name, value) =
    expect (name <> "" && not (Hashtbl.mem values name)) "two values have the same name, or none";
    Hashtbl.add values name value
  in
  List.iter define model.constants;
  let input (value : value) =
    let shape = List.map (Option.value ~default:1) (Option.get value.declared) in
    define (value.name, computed shape (Array.init (size_of shape) (fun _ -> add network Input)));
    shape
  in
  let inputs = List.map input model.ends.inputs in
  let count = Hashtbl.length network in
  expect (inputs <> []) "the model has no input";
  let compute (node : node) = define (List.hd node.outputs, run network model.opset values node) in
  List.iter compute model.nodes;
  let output (value : value) =
    expect (Hashtbl.mem values value.name) ("no node makes the output " ^ shown value.name);
    expect_shape value (Hashtbl.find values value.name).shape;
    Hashtbl.find values value.name
  in
  let outputs = List.map output model.ends.outputs in
  let ids = Array.concat (List.map (elements network) outputs) in
  (finished network count, ids, inputs @ List.map (fun x -> x.shape) outputs)
