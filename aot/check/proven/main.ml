(* bf-check-proven MODEL PROPERTY CERTIFICATE [SECONDS]: reads the files, and asks the proven checker. *)
open Exact

(* The conditions of a clause, of elements. *)
let conditions outputs =
  let condition ({ sum; strict } : Property.condition) : Checker.condition =
    let element v = if v >= 0 then v else outputs.(-1 - v) in
    let terms = Property.Terms.bindings sum.terms in
    let terms = List.map (fun (v, c) -> (Q.num c, Z.of_int (element v))) terms in
    { terms; constant = Network.rational sum.constant; strict }
  in
  List.map condition

let holds (header : Certificate.t) (asked : Property.t) network outputs =
  let case { Property.box; clauses } : Checker.case =
    let ends pick = List.map (fun bounds -> Network.rational (pick bounds)) box in
    { lower = ends fst; upper = ends snd; clauses = List.map (conditions outputs) clauses }
  in
  let clauses { Property.clauses; _ } = clauses in
  let is_relaxation = function Checker.Affine _ -> false | _ -> true in
  let relaxations = List.length (List.filter is_relaxation network.Checker.rows) in
  let trees = Certificate.trees header.body relaxations (List.map clauses asked.cases) in
  Checker.check header.grid network (Checker.uses network) (List.map case asked.cases) trees

let is_violated (header : Certificate.t) (asked : Property.t) network outputs =
  let point = Certificate.point header.body asked.inputs in
  let clause conjunction = conditions outputs (List.map Property.scaled conjunction) in
  let whole = { Checker.lower = []; upper = []; clauses = List.map clause asked.alternatives } in
  Checker.violates header.grid network whole (List.map Network.rational point)

let run model property certificate =
  let header = Certificate.header certificate in
  let require = require header.body in
  require (header.model = sha256 model) "the certificate is about another model";
  require (header.property = sha256 property) "the certificate is about another property";
  let asked = Property.read property in
  let network, outputs, shapes = Operators.make (Onnx.read model) in
  let fits = Z.to_int network.inputs = asked.inputs && Array.length outputs = asked.outputs in
  expect fits "the property is about another number of inputs or outputs";
  expect (asked.shapes = [] || asked.shapes = shapes) "the property declares other shapes";
  let proves = if header.statement = 1 then holds else is_violated in
  require (proves header asked network outputs) "the statement is not proven";
  if header.statement = 1 then (0, "checked: verified") else (3, "checked: falsified")

(* A byte of a certificate may ask for all bounds of a large network. *)
let end_after seconds =
  let stop _ = raise (Not_proven ("checking takes more than " ^ seconds ^ " s")) in
  Sys.set_signal Sys.sigalrm (Sys.Signal_handle stop);
  ignore (Unix.alarm (int_of_string seconds))

let () =
  let code, say, words =
    match Array.to_list Sys.argv with
    | _ :: model :: property :: certificate :: (([] | [ _ ]) as limit) -> (
        try
          end_after (match limit with [] -> "3600" | seconds :: _ -> seconds);
          let code, answer = run (read_file model) (read_file property) (read_file certificate) in
          (code, print_endline, answer)
        with
        | Not_proven why -> (4, print_endline, "not proven: " ^ why)
        | Refused why -> (1, prerr_endline, "bf-check-proven: " ^ why)
        | why -> (1, prerr_endline, "bf-check-proven: " ^ Printexc.to_string why))
    | _ -> (2, prerr_endline, "Usage: bf-check-proven MODEL PROPERTY CERTIFICATE [SECONDS]")
  in
  say words;
  exit code
