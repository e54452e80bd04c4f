int main(void)
{
	return undefined_thing;
}
