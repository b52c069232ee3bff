(* The checker of certificates, and what is proven of it: `check_sound`, the last theorem. *)

From Coq Require Import Reals ZArith NArith List Lra Lia Bool.
Require Import Network Certificate Table Bounds Lines.
Import ListNotations.
Local Open Scope Z_scope.

(* ---- The network in integers ---- *)

(* The weights of an affine sum that is element e, and whether all are exact. *)
Fixpoint weights_of (weight_bits : Z) (ts : list (rational * N)) (e : N) : option (sparse * bool) :=
  match ts with
  | [] => Some (End, true)
  | (q, i) :: rest =>
    if N.ltb i e then
      match weights_of weight_bits rest e with
      | Some (s, exact) =>
        let w := floor_of q weight_bits in
        Some (Term i w s, (w * Zpos (snd q) =? Z.shiftl (fst q) weight_bits) && exact)
      | None => None
      end
    else None
  end.

(* A row that is element e, and relaxation n where it is one. None: it reads no earlier element. *)
Definition rule_of (weight_bits value_bits : Z) (r : row) (how : use) (e n : N) : option rule :=
  match r with
  | Affine ts b =>
    match weights_of weight_bits ts e with
    | Some (s, exact) =>
      let bits := value_bits + weight_bits in
      Some (Sum s exact (floor_of b bits) (ceil_of b bits) how)
    | None => None
    end
  | Relu z => if N.ltb z e then Some (Ramp n z) else None
  | Function p z => if N.ltb z e then Some (Curve n p z) else None
  | Product x y => if N.ltb x e && N.ltb y e then Some (Pair n x y) else None
  end.

(* In descending order, in front of those that are given. *)
Fixpoint entries_of (weight_bits value_bits : Z) (rs : list row) (hows : list use) (e n : N)
    (before : list entry) : option (list entry) :=
  match rs with
  | [] => Some before
  | r :: rest =>
    let (how, hows) := match hows with [] => (Unused, []) | h :: hs => (h, hs) end in
    match rule_of weight_bits value_bits r how e n with
    | Some x =>
      let n := match relaxation x with Some _ => N.succ n | None => n end in
      entries_of weight_bits value_bits rest hows (N.succ e) n ((e, x) :: before)
    | None => None
    end
  end.

Fixpoint inputs_of (e : N) (ends : list rational) : list entry :=
  match ends with
  | [] => []
  | _ :: rest => (e, Input) :: inputs_of (N.succ e) rest
  end.

(* The argument of a relaxation that is a ReLU. *)
Fixpoint argument_of (n : N) (es : list entry) : option N :=
  match es with
  | [] => None
  | (_, Ramp m z) :: rest => if N.eqb m n then Some z else argument_of n rest
  | _ :: rest => argument_of n rest
  end.

(* ---- The tree ---- *)

Fixpoint inserted (n : N) (x : Z) (l : choices) : choices :=
  match l with
  | [] => [(n, x)]
  | (m, y) :: rest => if N.ltb n m then (m, y) :: inserted n x rest else (n, x) :: l
  end.

(* Sides times multipliers, of the neurons that are split. *)
Fixpoint sided (path : list (N * Z)) (ms : list Z) : choices :=
  match path, ms with
  | (n, side) :: path, m :: ms => inserted n (side * m) (sided path ms)
  | _, _ => []
  end.

Section Check.

Variables weight_bits value_bits coefficient_bits : Z.
Variable enclosed : Z -> program -> Z -> Z -> option (Z * Z * more).
Variable rows_up : list entry.   (* All rows, in their order. *)

Fixpoint pushed (k : Z) (ts : list (Z * N)) (st : sums) : sums :=
  match ts with
  | [] => st
  | (a, i) :: rest => pushed k rest (push i (k * a) st)
  end.

(* The sum of factor times condition, and whether one of them is strict. *)
Fixpoint combined (fs : list (N * Z)) (cl : clause) (st : sums) (c : Z) (closed : bool)
    : option (sums * Z * bool) :=
  match fs with
  | [] => Some (st, c, closed)
  | (i, f) :: rest =>
    if f <? 0 then None
    else
      match at_index i cl with
      | Some a =>
        combined rest cl
          (pushed (Z.shiftl f (coefficient_bits + weight_bits)) (terms a) st)
          (c + floor_of (f * fst (constant a), snd (constant a)) (coefficient_bits + value_bits))
          (closed || (strict a && (0 <? f)))
      | None => None
      end
  end.

Definition refuted (p : part) (path : list (N * Z)) (cl : clause) (ch : choice) : bool :=
  match combined (factors ch) cl [] 0 false with
  | Some (st, c, closed) =>
    let slopes := rev_append (slopes ch) [] in
    let weights := sided (rev_append path []) (multipliers ch) in
    match walk weight_bits value_bits enclosed (known_of p) (rows_of p) slopes weights st c with
    | Some bound => if closed then 0 <=? bound else 0 <? bound
    | None => false
    end
  | None => false
  end.

Fixpoint all_refuted (p : part) (path : list (N * Z)) (cls : list clause) (chs : list choice)
    : bool :=
  match cls, chs with
  | [], [] => true
  | cl :: cls, ch :: chs => refuted p path cl ch && all_refuted p path cls chs
  | _, _ => false
  end.

(* Whether no point of a part satisfies one of the clauses. *)
Fixpoint accepted (t : tree) (p : part) (path : list (N * Z)) (cls : list clause) : bool :=
  if is_empty p then true
  else
    match t with
    | Leaf chs => all_refuted p path cls chs
    | Empty => false
    | Halve e first second =>
      match get e (known_of p) with
      | Some (Known l u _) =>
        let place := l + (u - l) / 2 in
        accepted first (below e place p) path cls && accepted second (above e place p) path cls
      | _ => false
      end
    | Cut e place first second =>
      accepted first (below e place p) path cls && accepted second (above e place p) path cls
    | Neuron n first second =>
      match argument_of n rows_up with
      | Some z =>
        accepted first (above z 0 p) ((n, 1) :: path) cls &&
        accepted second (below z 0 p) ((n, -1) :: path) cls
      | None => false
      end
    | Each ts =>
      (fix each (ts : list tree) (cls : list clause) : bool :=
        match ts, cls with
        | [], [] => true
        | t :: ts, cl :: cls => accepted t p path [cl] && each ts cls
        | _, _ => false
        end) ts cls
    | Derive t =>
      accepted t (derived weight_bits value_bits coefficient_bits enclosed rows_up [] p) path cls
    end.

(* The part that is a box. *)
Fixpoint boxed (e : N) (low high : list rational) (p : part) : option part :=
  match low, high with
  | [], [] => Some p
  | l :: low, h :: high =>
    boxed (N.succ e) low high (meet e (floor_of l value_bits) (ceil_of h value_bits) Plain p)
  | _, _ => None
  end.

(* ---- The proof ---- *)

Section Proofs.

Hypothesis weight_bits_natural : 0 <= weight_bits.
Hypothesis value_bits_natural : 0 <= value_bits.
Hypothesis coefficient_bits_natural : 0 <= coefficient_bits.
Local Open Scope R_scope.
Notation V := (V value_bits).
Notation W := (W weight_bits).
Variable v : N -> R.   (* The elements' values. *)
Variable Y : N -> R.
Definition X (i : N) : R := V * v i.

Hypothesis enclosed_true : forall place p l u low high what z,
  enclosed place p l u = Some (low, high, what) -> IZR l <= z <= IZR u ->
  let y := V * program_value p (z / V) in
  IZR low <= y <= IZR high /\
  match what with
  | Lines k c k' c' => IZR k * z + IZR c <= W * y <= IZR k' * z + IZR c'
  | Rest _ _ => False
  | Plain => True
  end.
Hypothesis up_true : forall en, In en rows_up -> true_of weight_bits value_bits X Y en.
Notation in_part := (in_part weight_bits value_bits X Y).

Lemma total_pushed k ts st : total (pushed k ts st) X = IZR k * V * integer_sum ts v + total st X.
Proof.
  revert st; induction ts as [|[a i] ts IH]; intros st; simpl; [lra|].
  rewrite IH, total_push, mult_IZR. unfold X. unfold integer_sum. simpl. lra.
Qed.

Lemma combined_true fs cl st c closed st' c' closed' :
  (forall a, In a cl -> holds v a) ->
  combined fs cl st c closed = Some (st', c', closed') ->
  let before := total st X + W * IZR c in
  let after := total st' X + W * IZR c' in
  after <= before /\ (closed' = true -> closed = true \/ after < before).
Proof.
  intros H. revert st c closed.
  induction fs as [|[i f] fs IH]; intros st c closed; simpl.
  - intros [= -> -> ->]. split; [lra|auto].
  - destruct (Z.ltb_spec f 0) as [F|F]; [discriminate|].
    destruct (at_index i cl) as [a|] eqn:A; [|discriminate].
    apply at_index_in in A. specialize (H a A).
    intros K. apply IH in K. destruct K as [K1 K2]. clear IH.
    rewrite total_pushed, plus_IZR, shiftl_true in K1, K2 by lia.
    pose proof (W_positive weight_bits weight_bits_natural) as WP.
    pose proof (V_positive value_bits value_bits_natural) as VP.
    pose proof (power_positive coefficient_bits coefficient_bits_natural) as CP.
    pose proof (floor_of_true (f * fst (constant a), snd (constant a))%Z
      (coefficient_bits + value_bits) ltac:(lia)) as FL.
    rewrite Z.pow_add_r in K1, K2, FL by assumption.
    rewrite mult_IZR in K1, K2, FL.
    fold W in K1, K2. fold V in FL. set (C := IZR (2 ^ coefficient_bits)) in *.
    set (g := IZR (floor_of _ _)) in *.
    assert (RF : real (f * fst (constant a), snd (constant a))%Z = IZR f * real (constant a)).
    { unfold real. simpl. rewrite mult_IZR. unfold Rdiv. ring. }
    rewrite RF in FL. clear RF.
    apply IZR_le in F.
    assert (S : C * W * IZR f * V * integer_sum (terms a) v + W * g <=
                W * C * V * (IZR f * left_side a v)).
    { unfold left_side. nra. }
    assert (P : 0 < W * C * V) by (apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat|]; assumption).
    assert (L : left_side a v <= 0) by (unfold holds in H; destruct (strict a); lra).
    assert (N : IZR f * left_side a v <= 0) by (clear - F L; nra).
    pose proof (Rmult_le_compat_l _ _ _ (Rlt_le _ _ P) N) as Q. rewrite Rmult_0_r in Q.
    split; [lra|].
    intros E. apply K2 in E. destruct E as [E|E]; [|right; lra].
    apply orb_prop in E. destruct E as [E|E]; [auto|].
    apply andb_prop in E. destruct E as [E1 E2].
    apply Z.ltb_lt in E2. apply IZR_lt in E2.
    unfold holds in H. rewrite E1 in H. right.
    assert (M : IZR f * left_side a v < 0) by (clear - E2 H; nra).
    pose proof (Rmult_lt_compat_l _ _ _ P M) as Q'. rewrite Rmult_0_r in Q'. lra.
Qed.

Lemma refuted_true p path cl ch : in_part p -> refuted p path cl ch = true ->
  ~ (forall a, In a cl -> holds v a).
Proof.
  intros P R H. unfold refuted in R.
  destruct combined as [[[st c] closed]|] eqn:C; [|discriminate].
  apply (combined_true _ _ _ _ _ _ _ _ H) in C. simpl in C. destruct C as [C1 C2].
  destruct walk as [bound|] eqn:K; [|discriminate].
  apply (walk_true weight_bits value_bits enclosed weight_bits_natural value_bits_natural X Y
    enclosed_true) in K; [|apply P|apply P].
  pose proof (W_positive weight_bits weight_bits_natural) as WP.
  destruct closed.
  - apply Z.leb_le, IZR_le in R. destruct (C2 eq_refl) as [?|?]; [discriminate|]. nra.
  - apply Z.ltb_lt, IZR_lt in R. nra.
Qed.

Lemma all_refuted_true p path cls chs cl : in_part p -> all_refuted p path cls chs = true ->
  In cl cls -> ~ (forall a, In a cl -> holds v a).
Proof.
  intros P. revert chs; induction cls as [|c cls IH]; intros [|ch chs]; simpl; try discriminate.
  - intros _ [].
  - intros H [<-|I]; apply andb_prop in H; destruct H as [H1 H2].
    + apply (refuted_true _ _ _ _ P H1).
    + apply (IH _ H2 I).
Qed.

(* Induction over trees, whose lists of trees it enters. *)
Definition tree_induction (P : tree -> Prop)
    (leaf : forall chs, P (Leaf chs)) (empty : P Empty)
    (halve : forall e a b, P a -> P b -> P (Halve e a b))
    (cut : forall e p a b, P a -> P b -> P (Cut e p a b))
    (neuron : forall n a b, P a -> P b -> P (Neuron n a b))
    (each : forall ts, Forall P ts -> P (Each ts))
    (derive : forall a, P a -> P (Derive a)) : forall t, P t :=
  fix go (t : tree) : P t :=
    match t with
    | Leaf chs => leaf chs
    | Empty => empty
    | Halve e a b => halve e a b (go a) (go b)
    | Cut e p a b => cut e p a b (go a) (go b)
    | Neuron n a b => neuron n a b (go a) (go b)
    | Each ts =>
      each ts ((fix all (ts : list tree) : Forall P ts :=
        match ts with
        | [] => Forall_nil P
        | t :: ts => Forall_cons t (go t) (all ts)
        end) ts)
    | Derive a => derive a (go a)
    end.

Definition right_of (t : tree) : Prop :=
  forall p path cls cl, in_part p -> accepted t p path cls = true ->
  In cl cls -> ~ (forall a, In a cl -> holds v a).

Lemma sides_true first second p1 p2 path1 path2 cls cl e place :
  right_of first -> right_of second -> In cl cls -> (forall a, In a cl -> holds v a) ->
  accepted first p1 path1 cls && accepted second p2 path2 cls = true ->
  (X e <= IZR place -> in_part p1) -> (IZR place <= X e -> in_part p2) -> False.
Proof.
  intros T1 T2 I H B Q1 Q2. apply andb_prop in B. destruct B as [B1 B2].
  destruct (Rle_dec (X e) (IZR place)) as [L|L].
  - apply (T1 _ _ _ _ (Q1 L) B1 I H).
  - apply (T2 _ _ _ _ (Q2 ltac:(lra)) B2 I H).
Qed.

Lemma accepted_true t : right_of t.
Proof.
  induction t as [chs| |e a b Ta Tb|e place a b Ta Tb|n a b Ta Tb|ts Ts|t T] using tree_induction;
    intros p path cls cl P A I H; simpl in A; rewrite (proj1 (proj2 P)) in A.
  - apply (all_refuted_true _ _ _ _ _ P A I H).
  - discriminate.
  - destruct get as [[|l u w]|]; try discriminate.
    apply (sides_true _ _ _ _ _ _ _ _ e (l + (u - l) / 2)%Z Ta Tb I H A); intros L.
    + apply below_true; assumption.
    + apply above_true; assumption.
  - apply (sides_true _ _ _ _ _ _ _ _ e place Ta Tb I H A); intros L.
    + apply below_true; assumption.
    + apply above_true; assumption.
  - destruct argument_of as [z|]; try discriminate.
    rewrite andb_comm in A.
    apply (sides_true _ _ _ _ _ _ _ _ z 0%Z Tb Ta I H A); intros L.
    + apply below_true; assumption.
    + apply above_true; assumption.
  - revert cls I A. induction Ts as [|t ts T Ts IH]; intros [|c cls] I A; try discriminate.
    + destruct I.
    + apply andb_prop in A. destruct A as [A1 A2]. destruct I as [<-|I].
      * apply (T _ _ _ c P A1 (or_introl eq_refl) H).
      * apply (IH cls I A2).
  - apply (T (derived weight_bits value_bits coefficient_bits enclosed rows_up [] p) path cls cl);
      auto.
    apply derived_true; auto. intros en [].
Qed.

Lemma boxed_true low high e p p' :
  (forall i q, nth_error low i = Some q -> real q <= v (e + N.of_nat i)%N) ->
  (forall i q, nth_error high i = Some q -> v (e + N.of_nat i)%N <= real q) ->
  in_part p -> boxed e low high p = Some p' -> in_part p'.
Proof.
  revert high e p; induction low as [|l low IH]; intros [|h high] e p L U P; try discriminate.
  - intros [= <-]. exact P.
  - simpl. apply IH.
    + intros i q G. replace (N.succ e + N.of_nat i)%N with (e + N.of_nat (S i))%N by lia.
      apply L. exact G.
    + intros i q G. replace (N.succ e + N.of_nat i)%N with (e + N.of_nat (S i))%N by lia.
      apply U. exact G.
    + specialize (L O l eq_refl). specialize (U O h eq_refl). rewrite N.add_0_r in L, U.
      pose proof (V_positive value_bits value_bits_natural) as VP.
      apply meet_true; simpl; auto.
      pose proof (floor_of_true l value_bits value_bits_natural) as A.
      pose proof (ceil_of_true h value_bits value_bits_natural) as B.
      unfold X, Bounds.V in *. nra.
Qed.

End Proofs.
End Check.

(* ---- What the integers mean ---- *)

Section Compiled.

Variables weight_bits value_bits : Z.
Hypothesis weight_bits_natural : 0 <= weight_bits.
Hypothesis value_bits_natural : 0 <= value_bits.
Local Open Scope R_scope.
Notation V := (V value_bits).
Notation W := (W weight_bits).
Variable v : N -> R.
Notation X := (X value_bits v).
Notation true_of := (true_of weight_bits value_bits X).

Lemma weights_true ts e s exact : weights_of weight_bits ts e = Some (s, exact) ->
  exists d, W * (V * sum ts v) = value s X + d /\
  (if exact then d = 0 else True) /\ lows X s <= d <= highs X s.
Proof.
  revert s exact; induction ts as [|[q i] ts IH]; simpl; intros s exact.
  - intros [= <- <-]. exists 0. simpl. lra.
  - destruct (N.ltb i e); [|discriminate].
    destruct weights_of as [[s0 exact0]|]; [|discriminate]. intros [= <- <-].
    destruct (IH _ _ eq_refl) as (d & E & Z & B). clear IH.
    set (w := floor_of q weight_bits).
    assert (Q : IZR w <= real q * W < IZR w + 1).
    { split; [apply floor_of_true; assumption|].
      unfold w, floor_of, real. destruct q as [n p]. cbn [fst snd].
      assert (D : 0 < IZR (Zpos p)) by (apply IZR_lt; lia).
      apply Rmult_lt_reg_l with (1 := D).
      replace (IZR (Zpos p) * (IZR n / IZR (Zpos p) * W)) with (IZR n * W)
        by (field; apply Rgt_not_eq; exact D).
      unfold Bounds.W. rewrite <- plus_IZR, <- !mult_IZR. apply IZR_lt.
      rewrite <- Z.shiftl_mul_pow2 by assumption.
      pose proof (Z.mul_succ_div_gt (Z.shiftl n weight_bits) (Zpos p) ltac:(lia)). lia. }
    exists ((real q * W - IZR w) * X i + d). split; [|split].
    + change (sum ((q, i) :: ts) v) with (real q * v i + sum ts v). cbn [value].
      transitivity (real q * W * X i + W * (V * sum ts v)); [unfold Check.X; ring|].
      rewrite E. ring.
    + destruct (Z.eqb_spec (w * Zpos (snd q)) (Z.shiftl (fst q) weight_bits)) as [K|K];
        cbn [andb]; [|exact I].
      destruct exact0; [|exact I]. rewrite Z.
      assert (real q * W = IZR w); [|nra].
      unfold real. apply (f_equal IZR) in K.
      rewrite mult_IZR, shiftl_true in K by assumption. fold W in K.
      assert (D : 0 < IZR (Zpos (snd q))) by (apply IZR_lt; lia).
      apply Rmult_eq_reg_r with (IZR (Zpos (snd q))); [|apply Rgt_not_eq; exact D].
      rewrite K. field. apply Rgt_not_eq; exact D.
    + cbn [lows highs].
      assert (P : Rmin 0 (X i) <= (real q * W - IZR w) * X i <= Rmax 0 (X i)); [|lra].
      set (f := real q * W - IZR w) in *. assert (0 <= f <= 1) by (unfold f; lra).
      unfold Rmin, Rmax. destruct (Rle_dec 0 (X i)); nra.
Qed.

Lemma rule_true r how e n x : rule_of weight_bits value_bits r how e n = Some x ->
  v e = row_value r v -> row_defined r v ->
  exists y, forall Y, Y e = y -> true_of Y (e, x).
Proof.
  pose proof (V_positive value_bits value_bits_natural) as VP.
  pose proof (W_positive weight_bits weight_bits_natural) as WP.
  destruct r as [ts b|z|p z|i j]; simpl; intros R E D.
  - destruct weights_of as [[s exact]|] eqn:K; [|discriminate]. revert R. intros [= <-].
    apply weights_true in K. destruct K as (d & K & Z & B).
    exists (W * X e - value s X). intros Y YE. unfold Bounds.true_of. cbn [fst snd].
    split; [lra|]. exists d, (W * V * real b).
    pose proof (floor_of_true b (value_bits + weight_bits) ltac:(lia)) as F.
    pose proof (ceil_of_true b (value_bits + weight_bits) ltac:(lia)) as C.
    rewrite Z.pow_add_r, mult_IZR in F, C by assumption. fold W V in F, C.
    split; [|split; [split; lra|destruct exact; auto]].
    rewrite YE. unfold Check.X at 1. rewrite E.
    replace (W * (V * (sum ts v + real b))) with (W * (V * sum ts v) + W * V * real b) by ring.
    rewrite K. ring.
  - destruct (N.ltb z e); [|discriminate]. revert R. intros [= <-].
    exists 0. intros Y _. unfold Bounds.true_of. cbn [fst snd]. unfold Check.X. rewrite E.
    unfold Rmax. repeat destruct Rle_dec; nra.
  - destruct (N.ltb z e); [|discriminate]. revert R. intros [= <-].
    exists (X z). intros Y YE. unfold Bounds.true_of. cbn [fst snd].
    assert (Q : X z / V = v z) by (unfold Check.X; field; apply Rgt_not_eq; exact VP).
    rewrite Q. split; [assumption|]. unfold Check.X. rewrite E. reflexivity.
  - destruct (_ && _); [|discriminate]. revert R. intros [= <-].
    exists 0. intros Y _. unfold Bounds.true_of. cbn [fst snd]. unfold Check.X. rewrite E. ring.
Qed.

Fixpoint equations (rs : list row) (e : N) : Prop :=
  match rs with
  | [] => True
  | r :: rest => v e = row_value r v /\ equations rest (N.succ e)
  end.

Lemma true_of_at Y Y' en : Y (fst en) = Y' (fst en) -> true_of Y en -> true_of Y' en.
Proof.
  destruct en as [e [| | | |]]; unfold Bounds.true_of; cbn [fst snd]; intros E T;
  rewrite ?E in T; exact T.
Qed.

Lemma entries_true rs : forall hows e n before es,
  entries_of weight_bits value_bits rs hows e n before = Some es ->
  equations rs e -> (forall r, In r rs -> row_defined r v) ->
  exists Y, forall en, In en es -> In en before \/ (true_of Y en /\ (e <= fst en)%N).
Proof.
  induction rs as [|r rs IH]; simpl; intros hows e n before es.
  - intros [= <-] _ _. exists (fun _ => 0). auto.
  - destruct (match hows with [] => (Unused, []) | h :: hs => (h, hs) end) as [how hows'].
    destruct rule_of as [x|] eqn:K; [|discriminate]. intros H [E Es] D.
    apply IH in H; auto. destruct H as [Y' H].
    apply rule_true in K; auto. destruct K as [y K].
    exists (fun i => if N.eqb i e then y else Y' i).
    intros en I. destruct (H en I) as [[<-|B]|[T L]].
    + right. split; [|simpl; lia]. apply K. rewrite N.eqb_refl. reflexivity.
    + left. exact B.
    + right. split; [|lia]. apply true_of_at with (2 := T).
      destruct (N.eqb_spec (fst en) e) as [Q|Q]; [lia|reflexivity].
Qed.

End Compiled.

(* A network's values satisfy its equations, since rows read earlier elements alone. *)
Lemma run_before rs : forall e v i, (i < e)%N -> run rs e v i = v i.
Proof.
  induction rs as [|r rs IH]; simpl; intros e v i L; auto.
  rewrite IH by lia. unfold extend. destruct (N.eqb_spec i e); [lia|reflexivity].
Qed.

Lemma weights_early wb ts e s exact v v' : weights_of wb ts e = Some (s, exact) ->
  (forall i, (i < e)%N -> v i = v' i) -> sum ts v = sum ts v'.
Proof.
  revert s exact; induction ts as [|[q i] ts IH]; simpl; intros s exact; auto.
  destruct (N.ltb_spec i e) as [L|L]; [|discriminate].
  destruct weights_of as [[s0 x0]|]; [|discriminate]. intros _ H.
  rewrite (IH _ _ eq_refl H), H by assumption. reflexivity.
Qed.

Lemma rule_early wb vb r how e n x v v' : rule_of wb vb r how e n = Some x ->
  (forall i, (i < e)%N -> v i = v' i) -> row_value r v = row_value r v'.
Proof.
  destruct r as [ts b|z|p z|i j]; simpl; intros R H.
  - destruct weights_of as [[s exact]|] eqn:K; [|discriminate].
    rewrite (weights_early _ _ _ _ _ _ _ K H). reflexivity.
  - destruct (N.ltb_spec z e); [|discriminate]. rewrite H by assumption. reflexivity.
  - destruct (N.ltb_spec z e); [|discriminate]. rewrite H by assumption. reflexivity.
  - destruct (N.ltb_spec i e); [|discriminate]. destruct (N.ltb_spec j e); [|discriminate].
    rewrite !H by assumption. reflexivity.
Qed.

Lemma equations_true wb vb rs : forall hows e n before es v,
  entries_of wb vb rs hows e n before = Some es -> equations (run rs e v) rs e.
Proof.
  induction rs as [|r rs IH]; simpl; intros hows e n before es v; auto.
  destruct (match hows with [] => (Unused, []) | h :: hs => (h, hs) end) as [how hows'].
  destruct rule_of as [x|] eqn:K; [|discriminate]. intros H. split.
  - rewrite run_before by lia. unfold extend at 1. rewrite N.eqb_refl.
    apply (rule_early _ _ _ _ _ _ _ _ _ K). intros i L. rewrite run_before by lia.
    unfold extend. destruct (N.eqb_spec i e); [lia|reflexivity].
  - apply (IH _ _ _ _ _ _ H).
Qed.

(* ---- The checker ---- *)

Fixpoint count_of {A} (l : list A) (n : N) : N :=
  match l with
  | [] => n
  | _ :: rest => count_of rest (N.succ n)
  end.

Definition nothing_known (elements : N) (rs : list entry) : part :=
  {| known_of := filled deepest 0 elements Unknown; is_empty := false; rows_of := rs |}.

Definition case_checked (g : grid) (net : network) (up : list entry) (c : case) (t : tree) : bool :=
  let ins := inputs_of 0 (lower c) in
  let up := rev_append (rev_append ins []) up in
  let bits := Z.of_N (value_bits g) in
  N.eqb (count_of (lower c) 0) (inputs net) &&
  let nothing := nothing_known (count_of (rows net) (inputs net)) (rev_append up []) in
  match boxed bits 0 (lower c) (upper c) nothing with
  | Some p =>
    accepted (Z.of_N (weight_bits g)) bits (Z.of_N (coefficient_bits g))
      (enclosed (Z.of_N (weight_bits g)) bits) up t p [] (clauses c)
  | None => false
  end.

(* Which affine sums it helps to bound backwards: those that a function or product reads, and those
   that a ReLU reads while their sign is open. *)
Definition use_marked (r : row) (t : table use) : table use :=
  let by_sign z t := match get z t with Some ByValue => t | _ => set z BySign t end in
  match r with
  | Affine _ _ => t
  | Relu z => by_sign z t
  | Function _ z => set z ByValue t
  | Product x y => set x ByValue (set y ByValue t)
  end.
Fixpoint uses_of (t : table use) (rs : list row) (e : N) : list use :=
  match rs with
  | [] => []
  | _ :: rest =>
    match get e t with Some how => how | None => Unused end :: uses_of t rest (N.succ e)
  end.
Definition uses (net : network) : list use :=
  let nothing := filled deepest 0 (count_of (rows net) (inputs net)) Unused in
  uses_of (fold_left (fun t r => use_marked r t) (rows net) nothing) (rows net) (inputs net).

Fixpoint cases_checked (g : grid) (net : network) (up : list entry) (cs : list case)
    (ts : list tree) : bool :=
  match cs, ts with
  | [], [] => true
  | c :: cs, t :: ts => case_checked g net up c t && cases_checked g net up cs ts
  | _, _ => false
  end.

Definition check (g : grid) (net : network) (hows : list use) (cs : list case) (ts : list tree)
    : bool :=
  match entries_of (Z.of_N (weight_bits g)) (Z.of_N (value_bits g)) (rows net) hows (inputs net) 0
          [] with
  | Some down => cases_checked g net (rev_append down []) cs ts
  | None => false
  end.

Lemma count_of_true A (l : list A) n : count_of l n = (n + N.of_nat (length l))%N.
Proof. revert n; induction l as [|x l IH]; simpl; intros n; [lia|]. rewrite IH. lia. Qed.

Lemma inputs_of_true ends e en : In en (inputs_of e ends) -> snd en = Input.
Proof.
  revert e; induction ends as [|q ends IH]; simpl; intros e; [intros []|].
  intros [<-|I]; [reflexivity|apply (IH _ I)].
Qed.

Lemma cases_checked_in g net up cs : forall ts c,
  cases_checked g net up cs ts = true -> In c cs -> exists t, case_checked g net up c t = true.
Proof.
  induction cs as [|c' cs IH]; intros [|t ts] c; simpl; try discriminate.
  - intros _ [].
  - intros H [<-|I]; apply andb_prop in H; destruct H as [H1 H2]; eauto.
Qed.

Lemma nothing_true wb vb X Y elements rs : (forall en, In en rs -> true_of wb vb X Y en) ->
  in_part wb vb X Y (nothing_known elements rs).
Proof.
  intros R. unfold nothing_known. generalize deepest. intros depth.
  split; [|split; [reflexivity|exact R]].
  intros e l u w G. cbn [known_of] in G. apply get_filled in G. discriminate.
Qed.

Lemma boxed_length bits low : forall high e p p',
  boxed bits e low high p = Some p' -> length low = length high.
Proof.
  induction low as [|l low IH]; intros [|h high] e p p'; simpl; try discriminate; auto.
  intros H. f_equal. apply (IH _ _ _ _ H).
Qed.

(* If the checker accepts, then no real input of any case's box satisfies all conditions of one of
   the case's clauses. *)
Theorem check_sound (g : grid) (net : network) (hows : list use) (cs : list case)
    (ts : list tree) :
  check g net hows cs ts = true -> forall c, In c cs -> excluded net c.
Proof.
  unfold check. destruct entries_of as [down|] eqn:K; [|discriminate].
  intros H c I x [L U] D cl IC.
  destruct (cases_checked_in _ _ _ _ _ _ H I) as [t A]. clear H I.
  unfold case_checked in A. apply andb_prop in A. destruct A as [C A].
  apply N.eqb_eq in C. rewrite count_of_true in C. simpl in C.
  destruct boxed as [p|] eqn:B; [|discriminate].
  set (wb := Z.of_N (weight_bits g)) in *. set (vb := Z.of_N (value_bits g)) in *.
  set (v := values net x) in *.
  assert (WN : 0 <= wb) by (unfold wb; lia). assert (VN : 0 <= vb) by (unfold vb; lia).
  pose proof (equations_true _ _ _ _ _ _ _ _ x K) as E. fold (values net x) in E. fold v in E.
  destruct (entries_true wb vb WN VN v _ _ _ _ _ _ K E D) as [Y T].
  assert (T' : forall en, In en down -> true_of wb vb (X vb v) Y en).
  { intros en IE. destruct (T en IE) as [[]|[Q _]]. exact Q. }
  assert (UP : forall en,
    In en (rev_append (rev_append (inputs_of 0 (lower c)) []) (rev_append down [])) ->
    true_of wb vb (X vb v) Y en).
  { intros en IE. rewrite !rev_append_rev, !app_nil_r, rev_involutive in IE.
    apply in_app_or in IE. destruct IE as [IE|IE].
    - apply inputs_of_true in IE. destruct en as [e r]. simpl in IE. subst r. exact I.
    - apply in_rev in IE. auto. }
  assert (IN : forall i, (i < inputs net)%N -> v i = x i).
  { intros i Li. apply run_before. exact Li. }
  assert (S : forall high : list rational, length high = length (lower c) -> forall i q,
    nth_error high i = Some q -> (0 + N.of_nat i < inputs net)%N).
  { intros high Q i q G.
    assert (i < length high)%nat by (apply nth_error_Some; rewrite G; discriminate). lia. }
  refine (accepted_true wb vb _ _ _ WN VN _ v Y _ UP t p [] (clauses c) cl _ A IC).
  - apply N2Z.is_nonneg.
  - intros place f l u low high what z H Z. apply (enclosed_true wb vb place f l u); auto.
  - refine (boxed_true wb vb VN v Y _ _ _ _ _ _ _ _ B).
    + intros i q G. rewrite IN by (apply (S (lower c) eq_refl _ _ G)). apply (L _ _ G).
    + intros i q G. apply boxed_length in B.
      rewrite IN by (apply (S (upper c) (eq_sym B) _ _ G)). apply (U _ _ G).
    + apply nothing_true. intros en IE. apply UP.
      rewrite rev_append_rev, app_nil_r in IE. apply in_rev in IE. exact IE.
Qed.
