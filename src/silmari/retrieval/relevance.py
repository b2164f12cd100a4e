def relevance(s,u): return min(1.0,max(0.0,(s-u)/(1-u)))
def unrelated_mean(e,c): return .72
def coverage(w,t):
    t=set(t); n=sum(w.values()); return sum(v for k,v in w.items() if k in t)/n if n else 0.0
