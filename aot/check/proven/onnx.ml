(* ONNX files: a subset of protobuf in which nothing can be read in two ways. *)
open Exact

(* ---- Messages -------------------------------------------------------------------------------- *)

let fixed size reader =
  let part = text reader size in
  if size = 8 then String.get_int64_le part 0
  else Int64.logand (Int64.of_int32 (String.get_int32_le part 0)) 0xffffffffL

let int_of number =
  expect (Int64.of_int (Int64.to_int number) = number) "a number of the model is too large";
  Int64.to_int number

let all_of bytes read =
  let fail _ why = Refused ("the model: " ^ why) in
  let reader = { bytes; at = 0; fail; minimal = true } in
  let rec next all = if reader.at = String.length bytes then all else next (read reader :: all) in
  List.rev (next [])

type field = Bits of int64 | Bytes of string

(* The values of a message's fields, by number. known: how each may stand: v a varint, f a number
   of four bytes, b bytes, each at most once; B bytes, any number of times; V, F, D numbers, packed
   in one field or each in one of its own. What protobuf would merge, or take the last of, is
   refused. *)
let message name known bytes =
  let kind word = Scanf.sscanf word "%d%c" (fun number letter -> (number, letter)) in
  let kinds = List.map kind (String.split_on_char ' ' known) in
  let found = Hashtbl.create 8 and packed = Hashtbl.create 8 in
  let read reader =
    let key = varint reader in
    let number = Int64.(to_int (shift_right_logical key 3)) and wire = Int64.to_int key land 7 in
    let sure condition why =
      expect condition (Printf.sprintf "field %d of the model's %s %s" number name why)
    in
    let kind = Option.value (List.assoc_opt number kinds) ~default:' ' in
    sure (kind <> ' ') "is not in the checker's table";
    let packs = wire = 2 && String.contains "VFD" kind in
    let own = match kind with 'v' | 'V' -> 0 | 'b' | 'B' -> 2 | 'D' -> 1 | _ -> 5 in
    sure (wire = own || packs) "has another type";
    let once = String.contains "vfb" kind || packs || Hashtbl.mem packed number in
    sure (not (once && Hashtbl.mem found number)) "stands twice";
    let value reader =
      if own = 2 then Bytes (text reader (int_of (varint reader)))
      else Bits (if own = 0 then varint reader else fixed (if own = 1 then 8 else 4) reader)
    in
    if packs then Hashtbl.add packed number ();
    let piece () = text reader (int_of (varint reader)) in
    let values = if packs then all_of (piece ()) value else [ value reader ] in
    let before = Option.value (Hashtbl.find_opt found number) ~default:[] in
    Hashtbl.replace found number (List.rev_append values before)
  in
  ignore (all_of bytes read);
  fun number -> List.rev (Option.value (Hashtbl.find_opt found number) ~default:[])

let numbers fields = List.rev (List.rev_map (function Bits n -> n | Bytes _ -> assert false) fields)
let texts fields = List.map (function Bytes b -> b | Bits _ -> assert false) fields
let number fields = match numbers fields with [] -> 0L | first :: _ -> first
let bytes_of fields = match texts fields with [] -> "" | first :: _ -> first

(* ---- Tensors --------------------------------------------------------------------------------- *)

type cell = Number of Q.t | Element of int

(* Cells in row-major order; computed: all are elements of the network, else all are numbers. *)
type tensor = { shape : int list; cells : cell array; computed : bool; integral : bool }

(* The product of the extents. *)
let size_of shape =
  let most = 1 lsl 26 in
  let times size extent =
    expect (extent >= 0 && extent <= most && size * extent <= most) "a tensor has such an extent";
    size * extent
  in
  List.fold_left times 1 shape

let tensor bytes =
  let get = message "tensor" "1V 2v 4F 5V 7V 8b 9b 10D 12b 14v 16B" bytes in
  expect (number (get 14) = 0L) "a tensor's data are in another file";
  let bits32 bits =
    let word = Int64.of_int32 (Int64.to_int32 bits) in
    expect (Int64.shift_right_logical bits 32 = 0L || word = bits) "a number of 32 bits has more";
    Q.of_int64 word
  in
  let own, width, value =
    match number (get 2) with
    | 1L -> (4, 4, of_ieee 8 23)
    | 6L -> (5, 4, bits32)
    | 7L -> (7, 8, Q.of_int64)
    | 11L -> (10, 8, of_ieee 11 52)
    | kind -> refuse (Printf.sprintf "element type %Lu is not in the checker's table" kind)
  in
  let is_alone field = get field = [] || (field = own && get 9 = []) in
  expect (List.for_all is_alone [ 4; 5; 7; 10 ]) "a tensor has its data twice, or of another type";
  let bits = if get 9 = [] then numbers (get own) else all_of (bytes_of (get 9)) (fixed width) in
  let cells = Array.map (fun bits -> Number (value bits)) (Array.of_list bits) in
  let shape = List.map int_of (numbers (get 1)) in
  expect (size_of shape = Array.length cells) "a tensor has other elements than its shape says";
  (bytes_of (get 8), { shape; cells; computed = false; integral = own = 5 || own = 7 })

(* ---- Graphs ---------------------------------------------------------------------------------- *)

type attribute = Real of Q.t | Integer of int | Text of string | Tensor of tensor | List of int list

type attributes = (string * attribute) list
type node = { op : string; inputs : string list; outputs : string list; attributes : attributes }

(* An input or output as it is declared. Extents: None where one has no number. *)
type value = { name : string; declared : int option list option; kind : int64 }

(* inputs: those that are no constants. *)
type constants = (string * tensor) list
type ends = { inputs : value list; outputs : value list }
type model = { opset : int; nodes : node list; constants : constants; ends : ends }

let attribute bytes =
  let get = message "attribute" "1b 2f 3v 4b 5b 8V 13b 20v" bytes in
  let kind = number (get 20) in
  let is_own (own, field) = get field = [] || own = kind in
  expect (List.for_all is_own [ (1L, 2); (2L, 3); (3L, 4); (4L, 5); (7L, 8) ])
    "an attribute has a value of another type";
  let value =
    match kind with
    | 1L -> Real (of_ieee 8 23 (number (get 2)))
    | 2L -> Integer (int_of (number (get 3)))
    | 3L -> Text (bytes_of (get 4))
    | 4L -> Tensor (snd (tensor (bytes_of (get 5))))
    | 7L -> List (List.map int_of (numbers (get 8)))
    | _ -> refuse "an attribute's type is not in the checker's table"
  in
  (bytes_of (get 1), value)

let is_onnx domain = domain = "" || domain = "ai.onnx"

let node bytes =
  let get = message "node" "1B 2B 3b 4b 5B 6b 7b 9B" bytes in
  let op = bytes_of (get 4) in
  expect (is_onnx (bytes_of (get 7))) ("operator " ^ shown op ^ " is of another domain");
  let attributes =
    try List.map attribute (texts (get 5))
    with Refused why -> refuse ("operator " ^ shown op ^ ": " ^ why)
  in
  expect (are_unique (List.map fst attributes)) "an attribute stands twice";
  { op; inputs = texts (get 1); outputs = texts (get 2); attributes }

let value bytes =
  let get = message "value" "1b 2b 3b 4B" bytes in
  let kind = message "type" "1b 6b" (bytes_of (get 2)) in
  let tensor = message "tensor type" "1v 2b" (bytes_of (kind 1)) in
  let extent bytes =
    let get = message "extent" "1v 2b 3b" bytes in
    expect (get 1 = [] || get 2 = []) "an extent has a number and a name";
    if get 1 = [] then None else Some (int_of (number (get 1)))
  in
  let extents = List.map extent (texts (message "shape" "1B" (bytes_of (tensor 2)) 1)) in
  let declared = if tensor 2 = [] then None else Some extents in
  { name = bytes_of (get 1); declared; kind = number (tensor 1) }

let expect_shape value shape =
  let fits extents =
    if List.length extents = List.length shape then
      List.for_all2 (fun a b -> a = None || a = Some b) extents shape
    else List.mem None extents || size_of (List.map Option.get extents) = size_of shape
  in
  expect (Option.fold value.declared ~none:true ~some:fits)
    ("the shape of " ^ shown value.name ^ " is not as the model declares")

let graph opset bytes =
  let get = message "graph" "1B 2b 5B 10b 11B 12B 13B 14B 16B" bytes in
  let nodes = List.map node (texts (get 1)) and constants = List.map tensor (texts (get 5)) in
  expect (are_unique (List.map fst constants)) "two initializers have the same name";
  let values field =
    let values = List.map value (texts (get field)) in
    let has_name = are_unique ("" :: List.map (fun value -> value.name) values) in
    expect has_name "an input or an output has no name, or that of another";
    values
  in
  let is_input value =
    let constant = List.assoc_opt value.name constants in
    Option.iter (fun tensor -> expect_shape value tensor.shape) constant;
    let known = (value.kind = 1L || value.kind = 11L) && value.declared <> None in
    expect (known || constant <> None) "an input's type is not in the checker's table";
    constant = None
  in
  let ends = { inputs = List.filter is_input (values 11); outputs = values 12 } in
  { opset; nodes; constants; ends }

let read bytes =
  let get = message "file" "1v 2b 3b 4b 5v 6b 7b 8B 14B" bytes in
  expect (get 7 <> []) "the model's file has no graph";
  let set bytes =
    let get = message "operator set" "1b 2v" bytes in
    if is_onnx (bytes_of (get 1)) then [ int_of (number (get 2)) ] else []
  in
  match List.concat_map set (texts (get 8)) with
  | [ opset ] when opset >= 1 && opset <= 22 -> graph opset (bytes_of (get 7))
  | _ -> refuse "the model's operator sets are not in the checker's table"
