int main()
{
	int n = "text";
}
