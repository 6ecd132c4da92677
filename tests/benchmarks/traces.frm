* E tr(W W^T)^POWER for a Gaussian n x m matrix: the first entry left is paired with each other
* one, the deltas are summed at once and equal terms are merged after each step.
* form -q -D POWER=5 traces.frm
#-
Off Statistics;
Symbols n,m;
#do a=1,`POWER'
Index row`a'=n,column`a'=m;
#enddo
Index p=n,q=n,s=m,t=m;
CFunctions entry,open,picked,paired;
Local trace = open(
#do a=1,{`POWER'-1}
 entry(row`a',column`a'),entry(row{`a'+1},column`a'),
#enddo
 entry(row`POWER',column`POWER'),entry(row1,column`POWER'));
#do step=1,`POWER'
id open(entry(p?,s?),?rest) = picked(p,s)*distrib_(1,1,paired,open,?rest);
id picked(p?,s?)*paired(entry(q?,t?)) = d_(p,q)*d_(s,t);
.sort
#enddo
id open = 1;
Print;
.end
