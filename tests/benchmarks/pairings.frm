* All pairings of LEGS factors z_i = sum_j W_ij x_j: FORM's own symmetrised delta.
* form -q -D LEGS=8 pairings.frm
#-
Off Statistics;
Symbols variance,norm;
Indices r1,...,r`LEGS';
Local average = (variance*norm)^{`LEGS'/2}*dd_(r1,...,r`LEGS');
.sort
#$count = termsin_(average);
#write "%$", $count
.end
