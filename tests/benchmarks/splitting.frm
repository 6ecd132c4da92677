* LEGS factors z_i = sum_j W_ij s_j with independent neurons j: every pairing, and for each the
* ways in which the neurons of the pairs coincide, a power of "apart" standing for the falling
* factorial. form -q -D LEGS=10 splitting.frm
#-
Off Statistics;
Symbols variance,apart,a,b;
CFunctions left,picked,other,pair,groups,group,chosen,average;
CFunction tie(symmetric);
Local split = variance^{`LEGS'/2}*left(<1>,...,<`LEGS'>)*groups;
#do step=1,{`LEGS'/2}
id left(a?,?z) = picked(a)*distrib_(1,1,other,left,?z);
id picked(a?)*other(b?) = tie(a,b)*pair(a,b);
id pair(a?,b?)*groups(?z) = apart*groups(?z,group(a,b)) + pair(a,b)*distrib_(1,1,chosen,groups,?z);
id pair(a?,b?)*chosen(group(?y))*groups(?z) = groups(?z,group(?y,a,b));
#enddo
id left = 1;
repeat id groups(group(?y),?z) = average(?y)*groups(?z);
id groups = 1;
.sort
#$count = termsin_(split);
#write "%$", $count
.end
