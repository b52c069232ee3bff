(* Numbers, texts and errors of the proven checker's hand-written part. All numbers are exact. *)

exception Refused of string  (* a file that the checker does not take *)
exception Not_proven of string  (* a certificate that proves nothing *)

let refuse why = raise (Refused why)
let expect condition why = if not condition then refuse why

(* Text of a file in messages. *)
let shown text =
  let printable c = if c >= ' ' && c < '\x7f' then c else '?' in
  String.map printable (String.sub text 0 (min 60 (String.length text)))

let read_file path =
  try
    let file = open_in_bin path in
    let bytes = really_input_string file (in_channel_length file) in
    let packed = String.length bytes > 1 && String.sub bytes 0 2 = "\x1f\x8b" in
    expect (not packed) (shown path ^ " is compressed: expand it first");
    bytes
  with Sys_error _ | End_of_file -> refuse ("cannot read " ^ shown path)

(* Bytes that are being read. fail: raises what tells why they cannot be. minimal: whether numbers
   have no more bytes than they need. *)
type reader = { bytes : string; mutable at : int; fail : int -> string -> exn; minimal : bool }

let require reader condition why = if not condition then raise (reader.fail reader.at why)

let text reader size =
  let left = String.length reader.bytes - reader.at in
  require reader (size >= 0 && size <= left) "the file ends early";
  reader.at <- reader.at + size;
  String.sub reader.bytes (reader.at - size) size

let byte reader = Char.code (text reader 1).[0]

(* A number of 64 bits, in groups of 7 bits. *)
let rec varint ?(shift = 0) reader =
  let part = byte reader in
  require reader (shift < 63 || part <= 1) "a number has more than 64 bits";
  let needed = part > 0 || shift = 0 || not reader.minimal in
  require reader needed "a number has more bytes than it needs";
  let rest = if part < 128 then 0L else varint ~shift:(shift + 7) reader in
  Int64.(logor rest (shift_left (of_int (part land 127)) shift))

let are_unique names = List.compare_lengths (List.sort_uniq compare names) names = 0

(* The value of an IEEE number with so many bits of exponent and fraction. *)
let of_ieee exponent_bits fraction_bits bits =
  let part start size =
    Int64.to_int (Int64.shift_right_logical bits start) land ((1 lsl size) - 1)
  in
  let fraction = part 0 fraction_bits and exponent = part fraction_bits exponent_bits in
  let most = (1 lsl exponent_bits) - 1 in
  expect (exponent <> most) "a number of the model is infinite, or none";
  let digits = Q.of_int (if exponent = 0 then fraction else fraction lor (1 lsl fraction_bits)) in
  let power = max exponent 1 - (most / 2) - fraction_bits in
  let value = if power < 0 then Q.div_2exp digits (-power) else Q.mul_2exp digits power in
  if part (exponent_bits + fraction_bits) 1 = 1 then Q.neg value else value

let number_of form text =
  let fits = String.length text <= 2000 && Str.string_match (Str.regexp form) text 0 in
  expect (fits && Str.match_end () = String.length text) ("'" ^ shown text ^ "' is not a number");
  Q.of_string text

(* A decimal such as -1, .5 or 1e-05. *)
let of_decimal text =
  let digits = "[-+]?\\([0-9]+\\.?[0-9]*\\|\\.[0-9]+\\)" in
  let power = "\\([eE][-+]?[0-9][0-9]?[0-9]?[0-9]?\\)?" in
  number_of (digits ^ power) text

let of_fraction = number_of "-?[0-9]+\\(/0*[1-9][0-9]*\\)?"

(* SHA-256, whose constants are the first 32 bits of the fractions of roots of primes. *)
let sha256 bytes =
  let low x = x land 0xffffffff and size = String.length bytes in
  let is_prime n = List.for_all (fun d -> n mod d <> 0) (List.init (n - 2) (( + ) 2)) in
  let primes = Array.of_list (List.filter is_prime (List.init 310 (( + ) 2))) in
  let root degree n = Z.root (Z.shift_left (Z.of_int n) (32 * degree)) degree in
  let constants degree = Array.map (fun n -> Z.to_int (Z.extract (root degree n) 0 32)) primes in
  let state = Array.sub (constants 2) 0 8 and constant = constants 3 in
  let padding = 1 + ((119 - (size mod 64)) mod 64) in
  let text = Bytes.cat (Bytes.of_string bytes) (Bytes.make (padding + 8) '\000') in
  Bytes.set text size '\x80';
  Bytes.set_int64_be text (size + padding) (Int64.of_int (8 * size));
  let rotated x by = low ((x lsr by) lor (x lsl (32 - by))) in
  let mixed x a b c = rotated x a lxor rotated x b lxor c and w = Array.make 64 0 in
  for block = 0 to (Bytes.length text / 64) - 1 do
    for i = 0 to 15 do
      w.(i) <- low (Int32.to_int (Bytes.get_int32_be text ((64 * block) + (4 * i))))
    done;
    for i = 16 to 63 do
      let x = w.(i - 15) and y = w.(i - 2) in
      w.(i) <- low (w.(i - 16) + w.(i - 7) + mixed x 7 18 (x lsr 3) + mixed y 17 19 (y lsr 10))
    done;
    let v = Array.copy state in
    for i = 0 to 63 do
      let a = v.(0) and e = v.(4) in
      let choice = (e land v.(5)) lxor (lnot e land v.(6)) in
      let first = v.(7) + mixed e 6 11 (rotated e 25) + choice + constant.(i) + w.(i) in
      let majority = (a land v.(1)) lxor (a land v.(2)) lxor (v.(1) land v.(2)) in
      Array.blit v 0 v 1 7;
      v.(4) <- low (v.(4) + first);
      v.(0) <- low (first + mixed a 2 13 (rotated a 22) + majority)
    done;
    Array.iteri (fun i x -> state.(i) <- low (state.(i) + x)) v
  done;
  let digest = Bytes.create 32 in
  Array.iteri (fun i x -> Bytes.set_int32_be digest (4 * i) (Int32.of_int x)) state;
  Bytes.to_string digest
