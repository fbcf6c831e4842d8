"""Splits Swift text into ('code'|'comment'|'string', text) parts; interpolations are code."""
import re
def parts(s):
    out=[];i=0;n=len(s);start=0
    def flush(kind,a,b):
        if b>a: out.append((kind,s[a:b]))
    # recursive scanner
    def code(i,stop):
        nonlocal out
        a=i;depth=0
        while i<n:
            c=s[i]
            if s.startswith('//',i):
                flush('code',a,i); j=s.find('\n',i); j=n if j<0 else j
                flush('comment',i,j); i=a=j; continue
            if s.startswith('/*',i):
                flush('code',a,i); j=s.find('*/',i)+2
                flush('comment',i,j); i=a=j; continue
            m=re.match(r'#*"',s[i:i+8])
            if m and (c=='"' or c=='#'):
                flush('code',a,i); i=a=string(i,m.group(0)); continue
            if stop:
                if c=='(' : depth+=1
                if c==')':
                    if depth==0:
                        flush('code',a,i); return i
                    depth-=1
            i+=1
        flush('code',a,n); return n
    def string(i,openq):
        h=openq.count('#'); q='"'
        k=i+len(openq)
        multi=s.startswith('""',k)
        if multi and not (s.startswith('"',k) and s[k:k+2]=='""' ): multi=False
        if s[k:k+2]=='""': multi=True; k+=2
        elif s[k:k+1]=='"' and False: pass
        close=('"""' if multi else '"')+'#'*h
        esc='\\'+'#'*h+'('
        a=i
        if not multi and s.startswith(close,k):
            flush('string',i,k+len(close)); return k+len(close)
        while k<n:
            if s.startswith(close,k):
                k+=len(close); flush('string',a,k); return k
            if s.startswith(esc,k):
                k+=len(esc); flush('string',a,k)
                k=code(k,True); a=k; k+=1; continue
            if h==0 and s[k]=='\\': k+=2; continue
            k+=1
        flush('string',a,n); return n
    code(0,False)
    assert ''.join(t for _,t in out)==s
    return out
